"""Environments: a scenario plays from one decision to the next."""

import gc
import multiprocessing
import pickle
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest
import torch

pytest.importorskip("gymnasium", reason="Gymnasium is not installed: pip install 'netsim-dfl[gym]'")
pytest.importorskip(
    "pettingzoo", reason="PettingZoo is not installed: pip install 'netsim-dfl[gym]'"
)

import gymnasium
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, seed_test

import netsim
import netsim.gym
from netsim import api
from netsim.engine.simulation import Simulation
from netsim.errors import NetsimError, ProtocolError, ScenarioError
from netsim.recording import run_folder

SMALL = {
    "horizon_s": 12.0,
    "nodes": {"count": 4, "groups": [
        {"name": "slow", "count": 1, "speed": 0.5}, {"name": "quick", "count": 2},
        {"name": "hub", "count": 1, "role": "server"},
    ]},
    "topology": {"kind": "hub"},
    "link": {"latency_s": 0.5},
    "exchange": {"schedule": "poisson", "rate_hz": 0.1, "slot_s": 1.0},
    "data": {
        "kind": "digits", "partition": {"kind": "iid", "train_samples": 20, "test_samples": 5},
    },
    "model": {"kind": "mlp", "hidden": []},
    "compute": {"kind": "fixed", "step_s": 0.5},
    "training": {"learning_rate": 0.1, "batch_size": 10},
    "metrics": {"every_s": 4.0},
    "run": {"device": "cpu"},
    "algorithm": {"kind": "client_selection", "per_round": 1},
}  # fmt: skip

PACE = '''"""Pace: each node asks how many steps to train at each wake-up."""

from netsim import api


class Params(api.Params):
    """Keys."""

    policy: api.Policy = api.RandomPolicy()


def decides(params, roles):
    return api.Decides(
        deciders=tuple(range(len(roles))),
        observation={"local_steps": api.Numbers((), 0.0, 1e6)},
        action=api.Choice(3),
        policy=params.policy.choose,
        reward={"time_s": -1.0},
    )


@api.algorithm(decides=decides, learns=False)
def processes(node, params):
    return [on_wakeup(node)]


def on_wakeup(node):
    while True:
        yield node.wakeup()
        steps = yield node.decide({"local_steps": node.local_steps})
        yield node.work(steps=steps)
        node.record("steps_taken", steps)
'''


@pytest.fixture
def small():
    return netsim.Scenario(**SMALL)


@pytest.fixture
def pace(tmp_path):
    (tmp_path / "pace.py").write_text(PACE)
    return netsim.Scenario(
        components=tmp_path,
        horizon_s=10.0,
        nodes={"count": 3},
        exchange={"schedule": "periodic", "period_s": 2.0},
        compute={"kind": "fixed", "step_s": 0.5},
        algorithm={"kind": "pace"},
    )


def played(env, seed, choose):
    observation, info = env.reset(seed=seed)
    seen = [(observation, 0.0, info)]
    while True:
        observation, reward, terminated, truncated, info = env.step(choose(observation))
        assert not terminated
        seen.append((observation, reward, info))
        if truncated:
            return seen


def scores(*best):
    found = np.zeros(3)
    found[list(best)] = 1.0
    return found


@pytest.mark.slow
def test_gymnasiums_own_check_holds(small):
    env = netsim.gym.make(small)
    check_env(env, skip_render_check=True)
    env.close()


def test_steps_follow_from_hand_computed_times(small):
    """0.5 s down, a look at the loss, two steps of 0.5 s (of the slow: 1 s), 0.5 s up."""
    with netsim.gym.make(small, reward={"time_s": -1.0}) as env:
        seen = played(env, 0, lambda _: scores(1))
        assert [info["time_s"] for _, _, info in seen] == [
            *(2.5 * k for k in range(5)), 12.0,
        ]  # fmt: skip
        assert [reward for _, reward, _ in seen[1:]] == [-2.5] * 4 + [-2.0]
        assert seen[2][0]["round_trip_s"].tolist() == [0.0, 2.5, 0.0]
        assert seen[2][0]["rounds_ago"].tolist() == [2.0, 0.0, 2.0]
        slow = played(env, 0, lambda _: scores(0))
        assert [info["time_s"] for _, _, info in slow][:3] == [0.0, 4.0, 8.0]


@pytest.mark.slow
def test_an_episode_is_the_run_that_an_agent_plays(small, tmp_path):
    """The same decisions give the same log, whether they come by steps or by a callable."""
    with netsim.gym.make(small, record=tmp_path / "episodes") as env:
        seen = played(env, 3, lambda observation: scores(int(observation["rounds_ago"].argmax())))

    def agent(decision):
        return scores(int(decision.observation["rounds_ago"].argmax()))

    recorded = netsim.open(tmp_path / "episodes" / "episode-00000")
    direct = netsim.run(small.replace(seed=3), out=tmp_path / "direct", agent=agent)
    summaries = [run_folder.summary(run.folder) for run in (recorded, direct)]
    for key in ("event_log_sha256", "parameters_sha256"):
        assert summaries[0][key] == summaries[1][key]
        assert summaries[0]["decisions"] == {"by": "agent", "count": len(seen) - 1}
    assert seen[-1][2]["score"] == pytest.approx(summaries[1]["accuracy"]["mean"])


@pytest.mark.slow
def test_a_seed_gives_one_episode_and_no_seed_the_next(small):
    with netsim.gym.make(small) as env:
        first = played(env, 5, lambda _: scores(2))
        again = played(env, 5, lambda _: scores(2))
        assert repr(first) == repr(again)
        _, info = env.reset()
        assert info["seed"] == 6


@pytest.mark.parametrize("seed", [0.5, 1.0, "1", [1]])
def test_a_seed_that_is_no_whole_number_is_refused(small, seed):
    several = netsim.gym.aec(small)
    with pytest.raises(netsim.ScenarioError, match=r"seed = .*: must be a whole number"):
        several.reset(seed=seed)
    several.reset(seed=np.int64(6))
    assert several.infos[several.agent_selection]["seed"] == 6
    several.close()
    with netsim.gym.make(small) as env:
        assert env.reset(seed=np.int64(6))[1]["seed"] == 6


def test_a_refused_seed_is_not_counted_on_from(small):
    with netsim.gym.make(small) as env:
        with pytest.raises(netsim.ScenarioError, match="must be at most"):
            env.reset(seed=2**70)
        assert env.reset()[1]["seed"] == 0


FAILS = {
    "an exception": "raise ValueError(3)",
    "a decision that is not as declared": "yield node.decide({'local_steps': float('nan')})",
}


@pytest.mark.parametrize("fault", FAILS.values(), ids=FAILS)
def test_a_run_that_fails_raises_and_does_not_terminate(tmp_path, fault):
    """The process of the only node that decides ends by its fault, not because it is done."""
    text = PACE.replace('node.record("steps_taken", steps)', fault)
    text = text.replace("tuple(range(len(roles)))", "(0,)")
    only = "[on_wakeup(node)] if node.id == 0 else []"
    (tmp_path / "fails.py").write_text(text.replace("[on_wakeup(node)]", only))
    fails = netsim.Scenario(
        components=tmp_path,
        horizon_s=10.0,
        nodes={"count": 2},
        exchange={"schedule": "periodic", "period_s": 2.0},
        algorithm={"kind": "fails"},
    )
    for record in (None, tmp_path / "episodes"):
        with netsim.gym.make(fails, record=record) as env:
            env.reset(seed=0)
            with pytest.raises(NetsimError, match=r"node 0 at .* in on_wakeup"):
                env.step(1)
            with pytest.raises(ScenarioError, match="call reset first"):
                env.step(1)


@pytest.mark.filterwarnings("ignore:client_selection")
def test_models_that_diverge_are_observed_and_a_reward_that_is_no_number_is_told_of(small):
    diverging = small.replace(**{"training.learning_rate": 1e30, "model.hidden": [8, 8]})
    with netsim.gym.make(diverging) as env:
        env.reset(seed=0)
        with pytest.warns(netsim.RunWarning, match="the reward is nan, since models") as told:
            seen = played(env, 0, lambda _: scores(1))
    assert len(told) == 1
    assert np.isnan([reward for _, reward, _ in seen]).sum() > 1
    assert seen[-1][0]["loss"][1] == 1e9
    assert all(env.observation_space.contains(observation) for observation, _, _ in seen)


@pytest.mark.filterwarnings("ignore::netsim.RunWarning")
def test_what_a_run_warns_of_is_in_the_last_info_with_a_folder_and_without_one(small, tmp_path):
    diverging = small.replace(**{"training.learning_rate": 1e30, "model.hidden": [8, 8]})
    told = []
    for record in (None, tmp_path / "episodes"):
        with netsim.gym.make(diverging, record=record) as env:
            _, info = env.reset(seed=0)
            over = False
            while not over:
                assert "warnings" not in info
                *_, ended, truncated, info = env.step(scores(1))
                over = ended or truncated
            told.append([w.removeprefix("client_selection: ") for w in info["warnings"]])
    (summary,) = (tmp_path / "episodes").rglob("summary.json")
    of_run = run_folder.summary(summary.parent)["warnings"]
    assert of_run
    assert told[0] == of_run
    assert set(of_run) <= set(told[1])  # which says also what only a folder has


def test_what_an_agent_draws_is_no_draw_of_the_method(small):
    """Networks of an agent draw from PyTorch's generator at each step."""
    time = {"time_s": -1.0}
    with netsim.gym.make(small, timing_only=True, reward=time) as env:
        env.reset(seed=0)
        over = False
        while not over:
            torch.rand(1)
            *_, ended, truncated, info = env.step(scores(1))
            over = ended or truncated
    assert not [w for w in info.get("warnings", ()) if "global random numbers" in w]


def test_several_agents_begin_with_a_reset(pace):
    env = netsim.gym.aec(pace)
    with pytest.raises(ScenarioError, match="call reset first"):
        env.step(1)
    env.close()


def test_options_that_nothing_reads_are_told_of(small):
    with netsim.gym.make(small) as env, pytest.warns(netsim.RunWarning, match=r"options = .*none"):
        env.reset(options={"horizon_s": 3.0})


@pytest.mark.parametrize(
    ("own", "ends"),
    [
        ({"link.latency_s": 0.25}, [3.5, 7.0, 10.5, 12.0]),
        ({"horizon_s": 6.0}, [4.0, 6.0]),
        ({"compute.step_s": 1.0}, [7.0, 12.0]),
    ],
)
def test_the_set_of_a_method_is_played(small, own, ends):
    """Rounds with the slow client: there and back, and three local steps at half the speed.

    Time passes to the horizon, whatever happens last before it.
    """
    method = {"kind": "client_selection", "per_round": 1, "set": own}
    time = {"time_s": -1.0}
    env = netsim.gym.make(small.replace(algorithm=[method]), timing_only=True, reward=time)
    env.reset(seed=3)
    found, gained, truncated = [], 0.0, False
    while not truncated:
        _, reward, _, truncated, info = env.step(scores(0))
        found.append(info["time_s"])
        gained += reward
    assert found == pytest.approx(ends)
    assert gained == pytest.approx(-ends[-1])
    env.close()


def test_data_lie_where_the_environment_variable_says(small, tmp_path, monkeypatch):
    rows = "".join(f"{k * 7 % 11 / 3:.2f},{'xy'[k % 2]}\n" for k in range(200))
    (tmp_path / "all.csv").write_text("a,label\n" + rows)
    monkeypatch.setenv("NETSIM_DATA", str(tmp_path))
    table = {**SMALL["data"], "kind": "table"}
    with netsim.gym.make(small.replace(data=table), timing_only=True, reward={}) as env:
        env.reset(seed=1)


def test_the_reward_is_the_growth_of_what_is_weighted(small):
    with netsim.gym.make(small, reward={"score": 2.0, "megabytes": -1.0}) as env:
        seen = played(env, 0, lambda _: scores(1))
        ends, rewards = seen[-1][2], sum(reward for _, reward, _ in seen)
        begun = seen[0][2]
        gained = 2.0 * (ends["score"] - begun["score"]) - ends["megabytes"]
        assert rewards == pytest.approx(gained)
        assert ends["score"] > begun["score"]


@pytest.mark.slow
def test_environments_side_by_side_do_not_mix(small):
    vector = gymnasium.vector.SyncVectorEnv([lambda: netsim.gym.make(small)] * 2)
    vector.reset(seed=[1, 2])
    both = [vector.step(np.array([scores(0), scores(1)]))[4]["time_s"].tolist() for _ in range(2)]
    vector.close()
    assert both == [[4.0, 2.5], [8.0, 5.0]]


@pytest.mark.slow
def test_an_episode_that_is_given_up_leaves_no_thread(small):
    before = threading.active_count()
    for _ in range(3):
        env = netsim.gym.make(small)
        env.reset(seed=0)
        env.step(scores(0))
        env.reset(seed=1)
        env.close()
        env.close()
    gc.collect()
    assert threading.active_count() == before


@pytest.mark.slow
def test_an_episode_that_has_ended_is_freed_before_the_next(small):
    """Else each one leaves its run behind, or the next looks for it among all modules."""

    def runs():
        return [one for one in gc.get_objects() if type(one) is Simulation]

    gc.collect()
    before = runs()  # of other tests
    with netsim.gym.make(small, timing_only=True, reward={"time_s": -1.0}) as env:
        for seed in range(3):
            env.reset(seed=seed)
            env.step(env.action_space.sample())
    assert len(runs()) == len(before)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("action", "said"),
    [
        (np.zeros(2), "has shape"),
        (np.zeros((3, 1)), "has shape"),
        (np.full(3, 2.0), "is not from 0 to 1"),
        (np.array([0.0, np.nan, 0.0]), "nan is not from 0 to 1"),
        (np.array([0.0, -np.inf, 0.0]), "is not from 0 to 1"),
        (np.zeros(3, dtype=complex), "no real numbers"),
        (["0.5", "0.5", "0.5"], "no real numbers"),
        ([10**400, 0, 0], "no real numbers"),
        ([[0.0], 0.0, 0.0], "action"),
        ({"a": 1}, "no real numbers"),
        (None, "action"),
    ],
)
def test_a_wrong_action_is_refused_and_the_decision_waits_for_another(small, action, said):
    with netsim.gym.make(small) as env:
        env.reset(seed=0)
        with pytest.raises(NetsimError, match=said):
            env.step(action)
        assert env.step(scores(1))[4]["time_s"] == 2.5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:client_selection. 2 of 3 nodes with data published no model")
def test_a_method_that_comes_to_its_end_terminates_the_episode(small, tmp_path):
    """Two rounds of 2.5 s; the reward counts until then, also where a run is written to the end."""
    two = small.replace(algorithm={"kind": "client_selection", "per_round": 1, "rounds": 2})
    for record in (None, tmp_path):
        with netsim.gym.make(two, record=record) as env:
            env.reset(seed=0)
            first = env.step(scores(1))
            _, reward, terminated, truncated, info = env.step(scores(1))
            assert first[1:4] == (-2.5, False, False)
            assert (reward, terminated, truncated, info["time_s"]) == (-2.5, True, False, 5.0)
            with pytest.raises(ScenarioError, match="call reset first"):
                env.step(scores(1))
    recorded = netsim.open(tmp_path / "episode-00000").metrics
    assert recorded.t_s.max() == 12.0


def test_an_episode_without_tensor_work_takes_the_same_course(small):
    seen = []
    for timing_only in (False, True):
        with netsim.gym.make(small, reward={"time_s": -1.0}, timing_only=timing_only) as env:
            seen.append([info["time_s"] for _, _, info in played(env, 0, lambda _: scores(0))])
    assert seen[0] == seen[1]


@pytest.mark.slow
def test_a_closed_or_copied_environment_begins_with_a_reset(small):
    with netsim.gym.make(small) as env:
        first = env.reset(seed=4)
        env.step(scores(1))
        copy = pickle.loads(pickle.dumps(env))
        with pytest.raises(ScenarioError, match="call reset first"):
            copy.step(scores(1))
        assert copy.reset()[1]["seed"] == 5
        assert repr(copy.reset(seed=4)) == repr(first)
        copy.close()
        assert env.step(scores(1))[4]["time_s"] == 5.0  # the first goes on beside it
        env.close()
        with pytest.raises(ScenarioError, match="call reset first"):
            env.step(scores(1))


def test_an_environment_that_nobody_has_any_more_leaves_no_thread(small):
    before = threading.active_count()
    env = netsim.gym.make(small)
    env.reset(seed=0)
    del env
    gc.collect()
    assert threading.active_count() == before


def test_the_policy_answers_beside_an_agent(small):
    robin = {"kind": "client_selection", "per_round": 1, "policy": {"kind": "round_robin"}}
    with netsim.gym.make(small.replace(algorithm=robin)) as env:
        env.reset(seed=0)
        first = env.policy_action()
        assert env.action_space.contains(first)
        env.step(first)
        assert first.tolist() == [1.0, 0.0, 0.0]
        assert env.policy_action().tolist() == [0.0, 1.0, 0.0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:client_selection. 2 of 3 nodes with data published no model")
@pytest.mark.parametrize("kind", ["SyncVectorEnv", "AsyncVectorEnv"])
def test_vectors_of_environments_play_the_episodes_of_one(small, kind, tmp_path):
    """Also in other processes, which end with it; each records into a folder of its own."""
    alone = []
    for seed in (1, 2):
        with netsim.gym.make(small) as env:
            alone.append([info["score"] for _, _, info in played(env, seed, lambda _: scores(1))])
    children = set(multiprocessing.active_children())
    make = partial(netsim.gym.make, small, record=tmp_path)
    vector = getattr(gymnasium.vector, kind)([make] * 2)
    try:
        _, info = vector.reset(seed=[1, 2])
        both = np.array([scores(1), scores(1)])
        later = [vector.step(both)[4]["score"].tolist() for _ in range(len(alone[0]) - 1)]
        found = [info["score"].tolist(), *later]
    finally:
        vector.close()
    assert np.array(found).T.tolist() == alone
    assert set(multiprocessing.active_children()) == children
    recorded = [netsim.open(tmp_path / f"episode-0000{k}").summaries for k in (0, 1)]
    assert {next(iter(summary.values()))["seed"] for summary in recorded} == {1, 2}


KILLED = """
import os, signal, sys
import netsim.engine.runner, netsim.gym
for end in ("kill", "exit", "fork"):
    if child := os.fork():
        print(end, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    env = netsim.gym.make(sys.argv[1], record=end)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    print("under way", flush=True)
    if end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif end == "fork":
        sys.exit(0) if os.fork() == 0 else os.wait()
    sys.exit(0)
"""
"""Programs that begin with netsim imported; each ends as a process does."""


@pytest.mark.slow
def test_a_program_that_ends_in_an_episode_leaves_what_it_had_written(small, tmp_path):
    """No process goes on, and the folder of the run says that it is not done."""
    (tmp_path / "small.toml").write_text(small.to_toml())
    script = [sys.executable, "-c", KILLED, "small.toml"]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    found = ["under way", "kill -9", "under way", "exit 0", "under way", "fork 0"]
    assert done.stdout.splitlines() == found, done.stderr
    for end in ("kill", "exit", "fork"):
        run = tmp_path / end / "episode-00000"
        assert (run / "scenario.toml").exists()
        assert not (run / "summary.json").exists()
        with pytest.raises(ScenarioError, match="an agent took its decisions"):
            netsim.resume(run)


def test_what_can_not_be_an_environment_is_refused(small, pace):
    with pytest.raises(ScenarioError, match="none leaves decisions to an agent"):
        netsim.gym.make(small.replace(algorithm={"kind": "fedavg"}))
    with pytest.raises(ScenarioError, match=r"netsim\.gym\.aec"):
        netsim.gym.make(pace)
    with pytest.raises(ScenarioError, match="must be one of client_selection"):
        netsim.gym.make(small, "client_selektion")
    with pytest.raises(ScenarioError, match="reward: 'speed' must be one of time_s"):
        netsim.gym.make(small, reward={"speed": 1.0})
    with pytest.raises(ScenarioError, match="call reset first"):
        netsim.gym.make(small).step(scores(0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["small_client_selection", "small_bandwidth_allocation"])
def test_shipped_examples_pass_the_checks_of_both_libraries(name):
    quick = {"timing_only": True, "reward": {"time_s": -1.0}}
    with netsim.gym.make(name, **quick) as env:
        check_env(env, skip_render_check=True)
    several = netsim.gym.aec(name, **quick)
    api_test(several, num_cycles=20)
    several.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_pettingzoos_own_checks_hold(pace):
    env = netsim.gym.aec(pace)
    api_test(env, num_cycles=30)
    seed_test(lambda: netsim.gym.aec(pace), num_cycles=8)
    env.close()


def test_several_agents_decide_in_the_order_of_virtual_time(pace):
    env = netsim.gym.aec(pace)
    env.reset(seed=0)
    asked, total = [], dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, _, truncated, info = env.last()
        total[agent] += reward
        if not truncated:
            asked.append((info["time_s"], agent))
        env.step(None if truncated else 2)
    env.close()
    assert asked == sorted(asked, key=lambda one: one[0])
    assert len(asked) >= 12
    first = {a: next(t for t, b in asked if b == a) for a in total}
    ended = max(t for t, _ in asked)
    for agent, start_s in first.items():
        assert ended - start_s - 1e-9 <= -total[agent] <= 10.0 - start_s


AT_ONCE = PACE.replace("yield node.wakeup()", "yield node.sleep(1.0)")


@pytest.mark.thinned(4)
@pytest.mark.parametrize("steps", range(4))
@pytest.mark.parametrize("ends", ["close", "reset"])
def test_an_episode_ends_between_decisions_of_one_instant(pace, tmp_path, steps, ends):
    (tmp_path / "pace.py").write_text(AT_ONCE)
    env = netsim.gym.aec(pace)
    env.reset(seed=0)
    for _ in range(steps):
        env.step(1)
    env.close() if ends == "close" else env.reset(seed=1)
    env.close()
    assert "netsim episode" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("made", [1, 2])
def test_the_callers_threads_of_torch_come_back(small, made):
    """Networks of an agent compute in one thread while an episode plays."""
    torch.set_num_threads(2)
    envs = [netsim.gym.make(small) for _ in range(made)]
    for seed in range(2):
        for env in envs:
            env.reset(seed=seed)
            assert torch.get_num_threads() == 1
    for env in envs:
        env.close()
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    ("reward", "said"),
    [
        ({"time_s": "x"}, "reward: time_s: 'x' must be a finite number"),
        ({"time_s": float("nan")}, "reward: time_s: nan must be a finite number"),
        ("score", "reward: 'score' must have a weight for each name"),
        ({"score": 1.0}, "timing_only: the reward is of score, which nothing measures"),
        (None, "timing_only: the reward is of score, which nothing measures"),
    ],
)
def test_a_reward_that_can_not_be_is_refused(small, reward, said):
    with pytest.raises(ScenarioError, match=said):
        netsim.gym.make(small, reward=reward, timing_only=True)


def test_what_is_no_agent_is_refused(small, tmp_path):
    with pytest.raises(ScenarioError, match="agent = 3: must be callable"):
        netsim.run(small, agent=3, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


DECLARED = {
    "deciders": (0,), "observation": {}, "action": api.Choice(2), "policy": lambda decision: 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: api.Choice(0), "Choice: n = 0 must be a whole number of at least 1"),
        (lambda: api.Choice(2.5), "Choice: n = 2.5"),
        (lambda: api.Choices(()), "Choices: number of sizes = 0"),
        (lambda: api.Choices((2, -1)), "Choices: a size = -1"),
        (lambda: api.Subset(0), "Subset: n = 0"),
        (lambda: api.Shares(0), "Shares: n = 0"),
        (lambda: api.Best(3, 5), "Best: count = 5 must be at most n = 3"),
        (lambda: api.Numbers((), 1.0, 0.0), "Numbers: low = 1.0 must be at most high = 0.0"),
        (lambda: api.Numbers((), float("nan")), "Numbers: low = nan"),
        (lambda: api.Decides(**{**DECLARED, "deciders": 3}), "deciders = 3: must be a tuple"),
        (lambda: api.Decides(**{**DECLARED, "deciders": ()}), "must name a node at least"),
        (lambda: api.Decides(**{**DECLARED, "deciders": (0, 0)}), "each once"),
        (lambda: api.Decides(**{**DECLARED, "action": None}), "action: None is no space"),
        (lambda: api.Decides(**{**DECLARED, "observation": 3}), "observation = 3"),
        (lambda: api.Decides(**{**DECLARED, "observation": {"x": 3}}), "'x': 3 is no space"),
        (lambda: api.Decides(**{**DECLARED, "policy": 1}), "policy = 1: must be callable"),
        (lambda: api.Decides(**{**DECLARED, "reward": {"time_s": "x"}}), "must be a finite"),
    ],
)  # fmt: skip
def test_a_declaration_that_can_not_be_is_refused(made, said):
    with pytest.raises(ProtocolError, match=said):
        made()


def test_an_episode_without_a_decision_is_told(pace):
    env = netsim.gym.aec(pace.replace(horizon_s=1e-3))
    with pytest.raises(ScenarioError, match="came to its end without a decision"):
        env.reset(seed=0)


def test_a_run_of_an_agent_is_not_gone_on_with_by_the_policy(small, tmp_path):
    def agent(decision):
        if decision.count == 3:
            raise KeyboardInterrupt
        return scores(1)

    with pytest.raises(KeyboardInterrupt):
        netsim.run(small, out=tmp_path / "run", agent=agent)
    with pytest.raises(ScenarioError, match="an agent took its decisions, which is not kept"):
        netsim.resume(tmp_path / "run")
