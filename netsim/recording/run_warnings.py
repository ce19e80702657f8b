"""Warnings of a run: what its user should know before reading its numbers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from netsim.errors import one_line
from netsim.recording import run_folder
from netsim.recording.summary_fields import divergence


class RunWarnings:
    """Texts for `warnings` in `summary.json` and for the terminal, one of each subject.

    Attributes
    ----------
    texts : list of str
        In the order in which they came.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._subjects: set[str] = set()
        self._of_nodes: dict[str, tuple[str, set[int]]] = {}

    def of_node(self, subject: str, node: int, time_s: float, text: str) -> None:
        """Add what an algorithm warns of at a node; later nodes of the same subject are counted.

        Parameters
        ----------
        time_s : float
            Virtual time.
        text : str
            A clause whose subject is the node: "has lost candidates 3 and 5 for good".
        """
        if subject not in self._of_nodes:
            self._of_nodes[subject] = (f"node {node} at {time_s:g} s {text}", {node})
        self._of_nodes[subject][1].add(node)

    def all(self) -> list[str]:
        """Texts of the run, then those of algorithms with the number of nodes that they hold of."""
        warnings = list(self.texts)
        for text, nodes in self._of_nodes.values():
            more = len(nodes) - 1
            warnings.append(text + (f" (and {more:,} more nodes likewise)" if more else ""))
        return warnings

    def once(self, subject: str, text: str) -> None:
        """Add a warning, unless there is one of this subject already."""
        if subject not in self._subjects:
            self._subjects.add(subject)
            self.texts.append(text)


def queued_share(in_flight: int, ended: int, woke: int, nodes: int) -> float:
    """The share of messages that queue at the end of a run, as more is asked than radios carry.

    Parameters
    ----------
    in_flight : int
        Messages that have not ended, one for each receiver.
    woke : int
        Wake-ups of all nodes together.

    Returns
    -------
    float
        Of all messages asked for; 0 where no more are in flight than all nodes send at two
        wake-ups, since messages of the last wake-ups are on their way in any run, and where no
        clock wakes nodes, so that the two cannot be told apart.
    """
    asked = in_flight + ended
    return in_flight / asked if in_flight * woke > 2 * asked * nodes else 0.0


_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")

MOST_RATIO = 1.5
"""Methods with more than so many times the local steps of another are not compared alike."""


def unequal_steps(steps: Mapping[str, float], what: str) -> str | None:
    """A warning where the most local steps are more than `MOST_RATIO` times the fewest.

    `steps`: local steps by method; those with none are left out. `what`: what they are, such as
    `local steps in all`.
    """
    trained = {label: n for label, n in steps.items() if n > 0}
    if len(trained) < 2:
        return None
    fewest, most = min(trained, key=trained.__getitem__), max(trained, key=trained.__getitem__)
    ratio = trained[most] / trained[fewest]
    if ratio <= MOST_RATIO:
        return None
    return (
        f"{most} takes {ratio:,.3g} times as many {what} as {fewest} ({trained[most]:,.6g} and "
        f"{trained[fewest]:,.6g}): differences between them are of training as well"
    )


def unequal_steps_of(summaries: Sequence[Mapping[str, Any]]) -> str | None:
    """The warning on runs of one scenario that have ended, one an algorithm."""
    steps = {
        str(one.get("algorithm", k)): float(one["local_steps"])
        for k, one in enumerate(summaries)
        if isinstance(one.get("local_steps"), int)
    }
    return unequal_steps(steps, "local steps")


def warnings_of(folders: Sequence[Path]) -> list[str]:
    """Warnings that a user should know before reading the numbers of some methods in one world.

    What links assume and what routes are is told once where it holds for all runs, else with the
    algorithm: a `set` of its own may put it into another world.
    """
    assumed = {folder: _assumed(folder) for folder in folders}
    common = [text for text in assumed[folders[0]] if all(text in a for a in assumed.values())]
    warnings = list(common)
    for folder, texts in assumed.items():
        algorithm = run_folder.summary(folder).get("algorithm", folder.name)
        warnings += [f"{algorithm}: {text}" for text in texts if text not in common]
    for folder in folders:
        warnings += _own_warnings(folder)
    unequal = unequal_steps_of([run_folder.summary(folder) for folder in folders])
    return list(dict.fromkeys([*warnings, *([unequal] if unequal else [])]))


def warned_in(sweep: Path, runs: Sequence[Path]) -> list[str]:
    """Warnings of a sweep's runs, each with how many have it, be it with other numbers.

    `runs`: folders `LABEL/seed-N/METHOD` in it, of runs that have ended.
    """
    methods: dict[Path, list[Path]] = {}
    for run in runs:
        methods.setdefault(run.parent, []).append(run)
    alike: dict[str, dict[Path, str]] = {}
    for folder, together in methods.items():
        for text in warnings_of(together):
            alike.setdefault(_NUMBER.sub("0", text), {}).setdefault(folder, text)
    sentences = []
    for texts in alike.values():
        first, text = next(iter(texts.items()))
        is_of_all = len(texts) == len(methods) and len(set(texts.values())) == 1
        where = "" if is_of_all else f", such as {one_line(first.relative_to(sweep))}"
        sentences.append(f"in {len(texts)} of {len(methods)} runs{where}: {text}")
    return sentences


def _assumed(folder: Path) -> list[str]:
    environment = run_folder.environment(folder)
    routes = environment.get("routes", {}).values()
    advice = [route["advice"] for route in routes if "advice" in route]
    return list(dict.fromkeys([*environment.get("assumptions", ()), *advice]))


def _own_warnings(folder: Path) -> list[str]:
    summary, environment = run_folder.summary(folder), run_folder.environment(folder)
    algorithm = summary.get("algorithm", folder.name)
    warnings = [
        f"{algorithm}: {subject} ran node after node: {reason}"
        for subject, reason in summary.get("engine", {}).get("one_by_one", {}).items()
    ]
    graph = summary.get("topology", {})
    if graph.get("components", 0) > 1:
        warnings.append(
            f"{algorithm}: the topology is not connected: {graph['components']} "
            f"components, the largest of {graph.get('largest_component')} of "
            f"{summary.get('nodes')} nodes, {graph.get('isolated_nodes')} nodes without neighbours"
        )
    warnings += [
        f"{algorithm}: {', '.join(change['unread'])}: no process has read it since the "
        f"change at {change['at_s']:g} s, which had no effect"
        for change in summary.get("changes", ())
        if change.get("unread") and "at_s" in change
    ]
    warnings += [f"{algorithm}: {text}" for text in _went_on_with_others(environment)]
    warnings += [f"{algorithm}: {warning}" for warning in summary.get("warnings", ())]
    if text := divergence(summary):
        warnings.append(f"{algorithm}: {text}")
    return warnings


_MADE_OF = {
    "algorithm": "its algorithm's file",
    "inputs": "an input file",
    "components": "the file of a component",
}
"""Files of `environment.json`, and what one that has changed is called."""


def _went_on_with_others(environment: Mapping[str, Any]) -> Iterator[str]:
    """Name the times at which a run went on with other files than it was begun with."""
    before = {sort: [file["sha256"] for file in environment.get(sort, ())] for sort in _MADE_OF}
    for resumed in environment.get("resumed", ()):
        for sort, what in _MADE_OF.items():
            now = resumed.get(sort, before[sort])
            if now != before[sort]:
                before[sort] = now
                yield (
                    f"went on at {resumed.get('virtual_s', 0)} s after {what} had changed: a run "
                    "played anew gives other numbers"
                )
