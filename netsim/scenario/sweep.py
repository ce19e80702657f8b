"""The `[sweep]` table: a grid, a search, seeds."""

import math
from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from netsim.recording import summary_fields
from netsim.registry import Count, Finite, Index, Table

MOST_RUNS = 10_000
"""Of a sweep: each is a folder."""


class Draw(Table):
    """Range or list from which a search chooses the value of one key.

    In a file a list stands for itself: `"training.batch_size" = [10, 20, 50]`.

    Attributes
    ----------
    low
        Least value of a range. Absent: there are `values`.
    high
        Greatest value of a range. Absent: there are `values`.
    log
        Whether values are spread evenly over the logarithm of the range.
    values
        The values to choose from, in place of a range. Example: `[10, 20, 50]`
    """

    low: Finite | None = None
    high: Finite | None = None
    log: bool = False
    values: tuple[Any, ...] = ()

    @model_validator(mode="after")
    def _one_of_both(self) -> "Draw":
        if self.values:
            if self.low is not None or self.high is not None:
                raise ValueError("is either a list or a range with low and high")
        elif self.low is None or self.high is None:
            raise ValueError("needs low and high, or a list with at least one value")
        elif not self.low < self.high:
            raise ValueError(f"low = {self.low} must be below high = {self.high}")
        elif self.log and self.low <= 0:
            raise ValueError("a logarithmic range needs low > 0")
        return self


class Sweep(Table):
    """Many runs of one scenario: a grid (`over`), a search (`trials` of `draw`), seeds.

    Attributes
    ----------
    over
        Key paths, as `--set` takes them, and the values of each: every combination is a point of
        the grid. Example: `{ "radio.reachable" = [2, 5, 10] }`
    seeds
        Seeds with which every point is played. Empty: the scenario's. Example: `[0, 1, 2, 3, 4]`
    trials
        Number of points that a search plays. Absent: there is no search.
    draw
        Key paths, and the range or list from which a search chooses the value of each. Example: `{
        "training.learning_rate" = { low = 0.001, high = 0.1, log = true } }`
    search
        Choice of a trial's values by a search of Optuna: from the values that did well so far
        ("optuna"), or without regard to them ("random"). Absent: "optuna". Source: Akiba et al.,
        "Optuna", KDD 2019.
    prune
        Whether a trial ends early if it is worse than half of the earlier trials were at the same
        time. Absent: true with a search that learns from trials, false with a random one.
    select
        Metric that chooses the best trial (or the best point of a grid) of each algorithm, or a
        path into `summary.json` such as `delay.mean_s`. The lowest value wins of losses, errors,
        times, energy, bits sent, messages lost, spreads and weight on malicious nodes, the highest
        of metrics and of what arrives; other numbers are refused. Absent: of trials the task's main
        metric on validation samples, such as `accuracy_validation`; of a grid no point is chosen.
    jobs
        Number of runs played at a time. Absent: one per core, or one where runs would share a
        GPU. The option `--jobs` overrides it.
    show
        Numbers of `summary.json` that table and figure show; empty: the main ones. Example:
        `["accuracy", "delay_s", "energy_j"]`
    target
        A value of the main metric, such as an accuracy: table and figure show the time at which a
        run first reaches it. Absent: they do not.
    against
        Name of an algorithm: table and figure show the lead of the others over it in the main
        metric, at each point and paired by seed, after as many local steps of its nodes. Absent:
        they do not. Example: `"local"`
    """

    over: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = {}
    seeds: tuple[Index, ...] = ()
    trials: Count | None = None
    draw: dict[str, Draw] = {}
    search: Literal["optuna", "random"] | None = None
    prune: bool | None = None
    select: str | None = None
    jobs: Annotated[int, Field(ge=1, le=1024)] | None = None
    show: tuple[str, ...] = ()
    target: Finite | None = None
    against: str | None = None

    @field_validator("show")
    @classmethod
    def _known(cls, show: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(summary_fields.measure_name(name) for name in show))

    @model_validator(mode="after")
    def _agree(self) -> "Sweep":
        if bool(self.draw) != (self.trials is not None):
            raise ValueError("trials (how many) and draw (of what) go together")
        for key in ("search", "prune"):
            if getattr(self, key) is not None and self.trials is None:
                raise ValueError(f"{key} needs trials (how many) and draw (of what)")
        for key in (*self.over, *self.draw):
            if key == "seed":
                raise ValueError(
                    '"seed" is not varied like other keys; list seeds, as in --seeds 0:5 or '
                    "seeds = [0, 1]"
                )
            if key.partition(".")[0] == "sweep":
                raise ValueError(f'"{key}" is the sweep\'s own, which cannot vary itself')
        for key, values in self.over.items():
            texts = [repr(_as_number(value)) for value in values]
            seen = Counter(texts)
            twice = [v for v, text in zip(values, texts, strict=True) if seen[text] > 1]
            if twice:
                raise ValueError(f"over {key} has {twice[0]} twice")
        points = math.prod(len(values) for values in self.over.values()) * (self.trials or 1)
        runs = points * max(1, len(self.seeds))
        if runs > MOST_RUNS:
            of = f" of {len(self.seeds):,} seeds" if len(self.seeds) > 1 else ""
            raise ValueError(
                f"{runs:,} runs: {points:,} points{of}; at most {MOST_RUNS:,} are possible; give "
                "fewer values, trials or seeds"
            )
        both = sorted(self.over.keys() & self.draw.keys())
        if both:
            raise ValueError(f'"{both[0]}" is both in over and in draw')
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds repeat")
        towards = [name for name in self.show if "target" in name]
        if towards and self.target is None:
            raise ValueError(f"show has {towards[0]}: needs target, an accuracy such as 0.8")
        leads = [name for name in self.show if name.endswith("lead")]
        if leads and self.against is None:
            raise ValueError(f"show has {leads[0]}: needs against, an algorithm's name")
        return self

    @property
    def prunes(self) -> bool:
        """Return whether a search ends bad runs early: by default if it learns from others."""
        return self.search != "random" if self.prune is None else self.prune


def _as_number(value: Any) -> Any:
    """A whole number as the float that it is equal to; anything else as it is."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole and abs(value) <= 2**53 else value
