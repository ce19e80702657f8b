"""`[[changes]]` in scenario files: what they may say, what is refused and how."""

import tomllib

import pytest

from netsim.errors import ScenarioError
from netsim.scenario import from_dict, load, to_toml

TABLES = {
    "horizon_s": 100.0,
    "nodes": {"count": 5},
    "exchange": {"schedule": "poisson", "rate_hz": 1.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [4]},
    "algorithm": {"kind": "dpsgd"},
}
RADIO = {"radio": {"mac": {"kind": "csma"}}}


def changed(*changes, **more):
    pairs = [{"at_s": at_s, "set": keys} for at_s, keys in changes]
    return from_dict({**TABLES, **more, "changes": pairs})


def test_changes_add_up_and_keys_are_written_either_way():
    scenario = changed(
        (10.0, {"link": {"loss": 0.1, "arq": {"kind": "hole"}}}),
        (20.0, {"link.loss": 0.2, "algorithm.dpsgd.local_epochs": 3}),
    )
    (first_s, first), (second_s, second) = scenario.later
    assert (first_s, second_s) == (10.0, 20.0)
    assert (first.link.loss, second.link.loss) == (0.1, 0.2)
    assert second.link.arq.kind == "hole"
    epochs = [later.algorithm[0].params.local_epochs for later in (first, second)]
    assert epochs == [None, 3]
    assert scenario.link.loss == 0.0


def test_a_kind_goes_before_its_keys():
    scenario = changed((5.0, {"radio.arq.max_attempts": 2, "radio.arq.kind": "hole"}), radio={})
    assert scenario.later[0][1].radio.arq.max_attempts == 2


def test_a_file_is_written_and_read_again(tmp_path):
    scenario = changed((10.0, {"link": {"loss": 0.1}}), (20.0, {"exchange.rate_hz": 2.0}))
    text = to_toml(scenario)
    assert tomllib.loads(text)["changes"] == [
        {"at_s": 10.0, "set": {"link.loss": 0.1}},
        {"at_s": 20.0, "set": {"exchange.rate_hz": 2.0}},
    ]
    path = tmp_path / "again.toml"
    path.write_text(text)
    again = load(str(path))
    assert again.changes == scenario.changes
    assert [s.model_dump() for _, s in again.later] == [s.model_dump() for _, s in scenario.later]


def test_without_changes_nothing_is_written():
    assert "changes" not in to_toml(from_dict(TABLES))


def test_files_that_a_change_names_lie_beside_the_scenario(tmp_path):
    (tmp_path / "t.csv").write_text("trace,time_s,mbps\na,0,1\n")
    text = to_toml(from_dict(TABLES)) + (
        '[[changes]]\nat_s = 1.0\nset = {"link.trace.uplink" = "t.csv"}\n'
    )
    path = tmp_path / "s.toml"
    path.write_text(text)
    assert load(str(path)).later[0][1].link.trace.uplink == str(tmp_path / "t.csv")


REFUSED = [
    ({"nodes.count": 7}, "nodes.count: can't change from 5 to 7 while a run plays: a run starts"),
    ({"seed": 1}, "netsim sweep SCENARIO --seeds ..."),
    ({"topology.kind": "ring"}, "topology.kind: can't change"),
    ({"model.hidden": [5]}, "can't change from 4 to 5"),
    ({"data.validation": 0.1}, "data.validation: can't change"),
    ({"horizon_s": 200.0}, "horizon_s: can't change"),
    ({"compute.step_s": 2.0}, "can't change"),
    ({"energy.battery_j": 2.0}, "energy.battery_j: can't change from unset to 2.0"),
    ({"metrics.every_s": 2.0}, "metrics.every_s: can't change"),
    ({"training.batch_size": 3}, "minibatches are cut before the run"),
    ({"algorithm.training.batch_size": 3}, "algorithm.dpsgd.training.batch_size: can't change"),
    ({"training.optimizer": "adam"}, "of another one; to compare values of it"),
    ({"algorithm.name": "other"}, "algorithm.other.name: can't change"),
    ({"exchange.slot_s": 2.0}, "slots are counted from time 0"),
    ({"exchange": {"schedule": "rounds"}}, "neither takes over from the other"),
    ({"link.loss": -1.0}, "[link] loss = -1.0: must be at least 0"),
    ({"link.los": 0.1}, 'did you mean "loss"'),
    ({"sweep.seeds": [1]}, "is not of the run"),
    ({"changes": []}, "is not of the run"),
]


@pytest.mark.parametrize(("keys", "says"), REFUSED, ids=[str(next(iter(k))) for k, _ in REFUSED])
def test_what_a_run_starts_from_does_not_change(keys, says):
    with pytest.raises(ScenarioError) as caught:
        changed((5.0, keys))
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "radio", "says"),
    [
        ({"radio.fidelity": "packet"}, {}, "how radios are played"),
        (
            {"radio.sleep": {"kind": "duty_cycle", "period_s": 1.0, "awake_fraction": 0.5}},
            {},
            "rhythm",
        ),
        (
            {"radio.mean_snr_db": 3.0},
            RADIO["radio"] | {"fidelity": "packet"},
            "go on as they began",
        ),
        ({"link.loss": 0.1}, {}, "stands beside [radio]"),
    ],
)
def test_what_radios_keep(keys, radio, says):
    with pytest.raises(ScenarioError) as caught:
        changed((5.0, keys), radio=radio)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ((5.0, 5.0), "must be later than the change before, at 5"),
        ((6.0, 5.0), "must be later"),
        ((100.0,), "must be before the end, horizon_s = 100"),
        ((-1.0,), "must be at least 0"),
    ],
)
def test_changes_come_in_order_and_before_the_end(times, says):
    with pytest.raises(ScenarioError) as caught:
        changed(*((at_s, {"link.loss": 0.1}) for at_s in times))
    assert says in str(caught.value)
