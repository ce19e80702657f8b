"""What is looked at beside a run: its invariants, and what its user is warned of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from netsim.engine import deadlock
from netsim.engine.invariants import Checks, Observed
from netsim.learning.global_draws import GlobalGenerators
from netsim.messaging.barrier import Barrier
from netsim.recording.run_warnings import queued_share
from netsim.units import to_s


class RunChecks:
    """Checks and warnings of one run.

    Parameters
    ----------
    run : Observed
    thorough : bool
        Whether to check the invariants while the run goes on, too.
    """

    def __init__(self, run: Observed, thorough: bool) -> None:
        self._run, self._invariants = run, Checks(run, thorough)
        self._generators = GlobalGenerators()
        self.left_behind: Callable[[], list[Callable[[], None]]] = self._invariants.left_behind

    def evaluated(self, time_ns: int) -> None:
        """Look at an evaluation.

        Raises
        ------
        InvariantError
        """
        self._invariants.during(time_ns)
        for generator in self._generators.that_drew():
            self._run.recorder.warnings.once(
                f"draws of {generator}",
                f"by {to_s(time_ns):g} s something had drawn from {generator}'s global random "
                "numbers, which no seed sets, so two runs may differ; an algorithm's draws are "
                "those of node.uniform",
            )

    def nothing_left(self, nodes: Sequence[deadlock.Processes]) -> None:
        """Look at a run at whose end nothing is left to happen."""
        now_ns, horizon_s = self._run.clock.now, self._run.world.scenario.horizon_s
        found = deadlock.in_vain(nodes, now_ns, horizon_s)
        if found is not None:
            self._run.recorder.warnings.once("nobody sends", found)

    def rounds(
        self, barrier: Barrier | None, end_ns: int, delay: Mapping[str, Any]
    ) -> dict[str, int]:
        """Count the rounds that outlast their interval; warn where nodes' work alone is why.

        Parameters
        ----------
        barrier : Barrier or None
            None under other schedules.
        end_ns : int
        delay : mapping
            Delays of messages, as the summary has them.
        """
        outlasting = 0 if barrier is None else barrier.outlasting(end_ns)
        if barrier is None or not outlasting:
            return {}
        if not delay.get("max_s", 0.0):
            self._warn_of_rounds(outlasting, barrier)
        return {"rounds_outlasting_interval": outlasting}

    def _warn_of_rounds(self, outlasting: int, barrier: Barrier) -> None:
        self._run.recorder.warnings.once(
            "rounds outlast the interval",
            f"{outlasting:,} of {barrier.round:,} rounds lasted longer than [exchange] interval_s "
            f"= {to_s(barrier.interval_ns):g}, by the nodes' own work: methods that do less in a "
            "round play more of them in the same horizon_s. A longer interval_s or a shorter "
            "[compute] step_s gives all as many",
        )

    def after(self, summary: Mapping[str, Any]) -> None:
        """Look at the end of a run.

        Parameters
        ----------
        summary : mapping
            What the summary will say.

        Raises
        ------
        InvariantError
        """
        self._invariants.after(summary)

    def warnings(self, totals: Mapping[str, Any], in_flight: int) -> list[str]:
        """What the user should know before reading the numbers.

        Parameters
        ----------
        totals : mapping
            What `Recorder.close` counted.
        in_flight : int
            Messages that have not ended.
        """
        world = self._run.world
        for text in world.notes.remarks(world.scenario.horizon_s):
            self._run.recorder.warnings.once(text, text)
        ended, nodes = totals["messages"]["sent"], len(self._run.parts)
        share = queued_share(in_flight, ended, totals["wakes"]["woke"], nodes)
        if share >= 0.05:
            self._run.recorder.warnings.once(
                "messages queue",
                f"{in_flight:,} of {in_flight + ended:,} messages had not come through at the end: "
                "nodes ask for more than their links carry, and queues grow. Counts, shares and "
                "delays are of messages that have ended; send less often, or less",
            )
        shards = self._run.world.shards
        learners = [parts for parts in self._run.parts if shards.train_size(parts.id)]
        if learners and not any(parts.publishing.published for parts in learners):
            self._run.recorder.warnings.once(
                "never published",
                f"none of {len(learners)} nodes with data has published a model in "
                f"{self._run.world.scenario.horizon_s:g} s, so none was measured; an algorithm "
                "shows its model by node.publish(theta, stage)",
            )
        return self._run.recorder.warnings.texts
