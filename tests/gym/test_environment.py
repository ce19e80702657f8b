"""Environments: a scenario plays from one decision to the next."""

import gc
import threading

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="Gymnasium is not installed: pip install 'netsim-dfl[gym]'")
pytest.importorskip(
    "pettingzoo", reason="PettingZoo is not installed: pip install 'netsim-dfl[gym]'"
)

import gymnasium
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, seed_test

import netsim
import netsim.gym
from netsim.errors import NetsimError, ScenarioError
from netsim.recording import summary

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


def test_an_episode_is_the_run_that_an_agent_plays(small, tmp_path):
    """The same decisions give the same log, whether they come by steps or by a callable."""
    with netsim.gym.make(small, record=tmp_path / "episodes") as env:
        seen = played(env, 3, lambda observation: scores(int(observation["rounds_ago"].argmax())))

    def agent(decision):
        return scores(int(decision.observation["rounds_ago"].argmax()))

    recorded = netsim.open(tmp_path / "episodes" / "episode-00000")
    direct = netsim.run(small.replace(seed=3), out=tmp_path / "direct", agent=agent)
    summaries = [summary.load(run.folder) for run in (recorded, direct)]
    for key in ("event_log_sha256", "parameters_sha256"):
        assert summaries[0][key] == summaries[1][key]
        assert summaries[0]["decisions"] == {"by": "agent", "count": len(seen) - 1}
    assert seen[-1][2]["score"] == pytest.approx(summaries[1]["accuracy"]["mean"])


def test_a_seed_gives_one_episode_and_no_seed_the_next(small):
    with netsim.gym.make(small) as env:
        first = played(env, 5, lambda _: scores(2))
        again = played(env, 5, lambda _: scores(2))
        assert repr(first) == repr(again)
        _, info = env.reset()
        assert info["seed"] == 6


def test_the_reward_is_the_growth_of_what_is_weighted(small):
    with netsim.gym.make(small, reward={"score": 2.0, "megabytes": -1.0}) as env:
        seen = played(env, 0, lambda _: scores(1))
        ends, rewards = seen[-1][2], sum(reward for _, reward, _ in seen)
        begun = seen[0][2]
        gained = 2.0 * (ends["score"] - begun["score"]) - ends["megabytes"]
        assert rewards == pytest.approx(gained)
        assert ends["score"] > begun["score"]


def test_environments_side_by_side_do_not_mix(small):
    vector = gymnasium.vector.SyncVectorEnv([lambda: netsim.gym.make(small)] * 2)
    vector.reset(seed=[1, 2])
    both = [vector.step(np.array([scores(0), scores(1)]))[4]["time_s"].tolist() for _ in range(2)]
    vector.close()
    assert both == [[4.0, 2.5], [8.0, 5.0]]


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


@pytest.mark.parametrize(
    ("action", "said"),
    [(np.zeros(2), "has shape"), (np.full(3, 2.0), "is not from 0 to 1"), (None, "action")],
)
def test_a_wrong_action_is_refused_where_it_is_given(small, action, said):
    with netsim.gym.make(small) as env:
        env.reset(seed=0)
        with pytest.raises(NetsimError, match=said):
            env.step(action)
        with pytest.raises(ScenarioError, match="call reset first"):
            env.step(scores(0))
        env.reset(seed=0)


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
