"""Train a small PPO agent on a scenario, and compare it with the scenario's own rules.

    pip install -r examples/agents/requirements.txt
    python examples/agents/train.py small_client_selection --rounds 30 --steps 6144 --out agents

Each seed trains an agent of its own on worlds of its own, and then plays worlds that no agent has
seen, beside every rule of the scenario. The folder gets `curves.csv` (return of each episode of the
training), `scores.csv` (seconds of the same rounds by world) and `curves.svg`. The agent's gain
over a rule is by how many percent its rounds take less time, paired by world, with 95 % intervals
of Student's t over the seeds.
"""

import argparse
import csv
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import wrappers
from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import netsim
import netsim.gym

WORLDS = 3
"""Unseen worlds that each seed's agent and the rules play."""

UNSEEN = 10_000
"""Seed of the first of them; training stays below."""

T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t of 95 % for 1, 2, ... degrees of freedom."""


def scenario_of(name: str, rounds: int) -> netsim.Scenario:
    """The scenario, each of whose rules stops after so many rounds."""
    scenario = netsim.load(name)
    entries = [{**entry, "rounds": rounds} for entry in scenario.stated["algorithm"]]
    return scenario.replace(algorithm=entries, horizon_s=1e4, metrics={"every_s": 1e4})


def squashed(observation: np.ndarray) -> np.ndarray:
    """Logarithms, for numbers that have no common scale."""
    return (np.sign(observation) * np.log1p(np.abs(observation))).astype(np.float32)


def environment(scenario: netsim.Scenario, rule: str) -> gymnasium.Env:
    """An environment as PPO takes it: one vector in, numbers from -1 to 1 out."""
    flat = wrappers.FlattenObservation(netsim.gym.make(scenario, rule, timing_only=True))
    space = gymnasium.spaces.Box(-25.0, 25.0, flat.observation_space.shape, np.float32)
    told = wrappers.TransformObservation(flat, squashed, space)
    return wrappers.RescaleAction(told, np.float32(-1.0), np.float32(1.0))


class Seeded(gymnasium.Wrapper):
    """An environment whose resets without a seed go on from a first seed."""

    def __init__(self, env: gymnasium.Env, first: int) -> None:
        super().__init__(env)
        self._next = first

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Begin the episode of the next seed."""
        self._next += 1
        return self.env.reset(seed=self._next - 1 if seed is None else seed, options=options)


def trained(
    scenario: netsim.Scenario, rule: str, seed: int, steps: int, gamma: float
) -> tuple[PPO, list[float]]:
    """Train an agent, and note the return of each episode.

    Parameters
    ----------
    scenario : Scenario
    rule : str
        The method whose decisions it takes.
    seed : int
        Of its networks, its draws, and the worlds that it trains in.
    steps : int
        Decisions.
    gamma : float
        Weight of the next decision's reward in the worth of a decision; 0: only its own counts.
    """
    monitor = Monitor(Seeded(environment(scenario, rule), 100 * seed))
    envs = VecNormalize(DummyVecEnv([lambda: monitor]), norm_obs=False, gamma=gamma)
    agent = PPO(
        "MlpPolicy", envs, seed=seed, n_steps=256, batch_size=64, n_epochs=10, gamma=gamma,
        learning_rate=1e-3, policy_kwargs={"net_arch": [32, 32], "log_std_init": -0.5},
        device="cpu",
    )  # fmt: skip
    agent.learn(steps)
    envs.close()
    return agent, monitor.get_episode_rewards()


def chosen(agent: PPO, observation: Any) -> Any:
    """Decide as a trained agent does."""
    return agent.predict(observation, deterministic=True)[0]


def played_s(env: gymnasium.Env, seed: int, choose: Callable[[Any], Any]) -> float:
    """Virtual seconds that the rounds take in the world of a seed."""
    observation, info = env.reset(seed=seed)
    over = False
    while not over:
        observation, _, terminated, truncated, info = env.step(choose(observation))
        over = terminated or truncated
    return float(info["time_s"])


def rule_s(scenario: netsim.Scenario, rule: str, seed: int) -> float:
    """The same, by a rule of the scenario."""
    with netsim.gym.make(scenario, rule, timing_only=True) as env:
        return played_s(env, seed, lambda _: env.policy_action())


def compared(scores: list[dict[str, Any]], rules: list[str]) -> Iterator[str]:
    """Lines of a table: seconds of each, and by how many percent the agent takes less."""
    seeds = sorted({row["seed"] for row in scores})
    yield "| who decides | seconds | the agent takes less, 95 % |"
    yield "|---|---|---|"
    for rule in [*rules, "agent"]:
        line = f"| {rule} | {np.mean([row[rule] for row in scores]):.1f} |"
        if rule == "agent" or len(seeds) == 1:
            yield f"{line} |"
            continue
        ratios = np.log([row[rule] / row["agent"] for row in scores])
        gains = np.array([ratios[[r["seed"] == s for r in scores]].mean() for s in seeds])
        t = T_95[min(len(seeds) - 2, len(T_95) - 1)]
        half = t * gains.std(ddof=1) / math.sqrt(len(seeds))
        ends = 100 * (1 - np.exp([-gains.mean(), half - gains.mean(), -half - gains.mean()]))
        yield f"{line} {ends[0]:.1f} % ({ends[1]:.1f} to {ends[2]:.1f}) |"


def drawn(curves: list[list[float]], to: Path) -> None:
    """Learning curves: the return of each episode, one line a seed, and their mean."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.5), layout="constrained")
    axes = figure.add_subplot(xlabel="episode", ylabel="seconds of an episode")
    shortest = min(map(len, curves))
    table = -np.array([curve[:shortest] for curve in curves])
    width = max(1, shortest // 10)
    smooth = np.array([np.convolve(row, np.ones(width) / width, "valid") for row in table])
    episodes = np.arange(width, shortest + 1)
    axes.plot(episodes, smooth.T, color="0.8", linewidth=0.8)
    axes.plot(episodes, smooth.mean(axis=0), color="C0", label="mean of seeds")
    axes.legend()
    figure.savefig(to)


def main() -> None:
    """Train, compare, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("scenario")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=6144)
    parser.add_argument("--gamma", type=float, default=0.0)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("agents"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    scenario = scenario_of(given.scenario, given.rounds)
    rules = [entry.name for entry in scenario.tables.algorithm]
    given.out.mkdir(parents=True)
    curves, scores = [], []
    for seed in range(given.seeds):
        agent, returns = trained(scenario, rules[0], seed, given.steps, given.gamma)
        curves.append(returns)
        env = environment(scenario, rules[0])
        choose = partial(chosen, agent)
        for world in range(UNSEEN + WORLDS * seed, UNSEEN + WORLDS * (seed + 1)):
            row: dict[str, Any] = {"seed": seed, "world": world}
            row["agent"] = played_s(env, world, choose)
            scores.append(row | {rule: rule_s(scenario, rule, world) for rule in rules})
        env.close()
        with (given.out / "scores.csv").open("w", newline="") as file:
            table = csv.DictWriter(file, list(scores[0]))
            table.writeheader()
            table.writerows(scores)
        with (given.out / "curves.csv").open("w", newline="") as file:
            csv.writer(file).writerows(curves)
        print(f"seed {seed}: {len(returns)} episodes", flush=True)
    print("\n".join(compared(scores, rules)))
    drawn(curves, given.out / "curves.svg")


if __name__ == "__main__":
    main()
