"""Examples of tables in `docs/scenario.md`, each a part of a scenario that can be played."""

REST = """\
horizon_s = 100.0
[nodes]
count = 5
[exchange]
schedule = "rounds"
[data]
kind = "digits"
[model]
kind = "mlp"
[algorithm]
kind = "fedavg"
"""
"""Smallest scenario; an example stands in place of its tables, or beside them."""

EXAMPLES = {
    "": """\
name = "twenty"
seed = 0
horizon_s = 1000.0
""",
    "nodes": """\
[nodes]
count = 20
placement = "disc"
radius_m = 100.0

[[nodes.groups]]        # ids 0 to 3
name = "phones"
count = 4
speed = 0.25
battery_j = 50.0
""",
    "exchange": """\
[exchange]
schedule = "poisson"
rate_hz = 0.1
""",
    "radio": """\
[radio]
bandwidth_hz = 2e6
tx_power_dbm = 14.0
ttl_s = 2.0

[radio.fading]
kind = "rayleigh"
coherence_s = 0.1

[radio.rate]
kind = "shannon_gap"
min_rate_bps = 1e4
""",
    "link": """\
[link]
latency_s = 0.02
uplink_bps = 10e6
downlink_bps = 50e6
loss = 0.001
arq = { kind = "unlimited" }
""",
    "data": """\
[data]
kind = "digits"
validation = 0.2
partition = { kind = "dirichlet", alpha = 0.5 }
""",
    "model": """\
[model]
kind = "mlp"
hidden = [64]
""",
    "training": """\
[training]
optimizer = "sgd"
learning_rate = 0.05
momentum = 0.9
batch_size = 20
""",
    "algorithm": """\
[[algorithm]]
kind = "fedprox"
strength = 0.1
training = { learning_rate = 0.01 }

[[algorithm]]
kind = "local"
name = "alone"
""",
    "task": """\
[task]
kind = "classification"
""",
    "topology": """\
[topology]
kind = "watts_strogatz"
degree = 4
rewiring = 0.1
""",
    "mobility": """\
[nodes]
count = 5
placement = "disc"

[mobility]
kind = "random_waypoint"
max_m_per_s = 2.0
""",
    "churn": """\
[churn]
kind = "exponential"
mean_on_s = 300.0
mean_off_s = 60.0
""",
    "compute": """\
[compute]
kind = "stragglers"
step_s = 0.5
share = 0.2
slowdown = 5.0
""",
    "energy": """\
[energy]
battery_j = 500.0
compute = { kind = "per_step", joules = 0.05 }
""",
    "attack": """\
[attack]
kind = "sign_flip"
fraction = 0.2
""",
    "metrics": """\
[metrics]
every_s = 10.0
stages = ["mixed", "trained"]
""",
    "run": """\
[run]
device = "cpu"
threads = 4
""",
    "changes": """\
[[changes]]
at_s = 50.0
set = { "training.learning_rate" = 0.01 }
""",
    "sweep": """\
[sweep]
over = { "training.learning_rate" = [0.01, 0.1] }
seeds = [0, 1, 2]
show = ["accuracy", "delay_s"]
""",
    "paper": """\
[paper]
name = "DPFL"
plays = ["Table 1"]
""",
}
"""By the path of the table that an example is of."""
