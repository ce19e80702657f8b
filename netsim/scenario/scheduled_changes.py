"""Scenarios that hold one after the other, where one has `[[changes]]`.

`CHANGEABLE` and `LASTING` say which keys can change in mid-run; all others are what a run starts
from.
"""

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from netsim.errors import ScenarioError
from netsim.scenario.changes import NOT_OF_THE_RUN
from netsim.scenario.draft import Draft
from netsim.scenario.labels import shown
from netsim.scenario.tables import Scenario

CHANGEABLE = {
    "link.*": "messages that are sent from then on; what shares bottlenecks has their new rates",
    "radio.*": "messages that begin from then on; what is on the air keeps rate, power and channel",
    "exchange.*": "wake-ups and rounds that begin from then on",
    "algorithm.*.params.*": "what processes read of their Params from then on",
    "algorithm.*.training.*": "local training that begins from then on",
    "training.*": "local training that begins from then on",
    "nodes.groups.*.uplink_bps": "as [link]",
    "nodes.groups.*.downlink_bps": "as [link]",
    "nodes.groups.*.tx_power_dbm": "as [radio]",
}
"""Keys that may change in mid-run, as a scenario's tables have them, and what they are of."""

LASTING = {
    "radio.fidelity": "it says how radios are played, not what they do",
    "radio.sleep.*": "radios sleep by one rhythm for the whole run",
    "exchange.slot_s": "slots are counted from time 0; a schedule of another kind takes the "
    "slot_s of the first",
    "algorithm.*.training.optimizer": "an optimizer cannot use the state of another one",
    "algorithm.*.training.batch_size": "minibatches are cut before the run",
    "training.optimizer": "an optimizer cannot use the state of another one",
    "training.batch_size": "minibatches are cut before the run",
    "training.dtype": "models are made in it",
    "training.common_initial": "models are made by it",
    "training.parameter_bits": "sizes of messages are counted in it for the whole run",
    "training.on_arrival": "trainings under way would not know by which rule to end",
}
"""Keys below those of `CHANGEABLE` that can't, and why."""


def scheduled_changes(
    draft: Draft, first: Scenario, checked: Callable[[Draft], Scenario]
) -> list[tuple[float, Scenario]]:
    """Return the scenarios that hold one after the other, each with its beginning [s].

    Parameters
    ----------
    draft : Draft
        The scenario as written.
    first : Scenario
        What holds until the first of its changes.
    checked : callable
        Draft -> Scenario; raises ScenarioError.

    Returns
    -------
    list of (float, Scenario)
        From when on [s] each of them holds.

    Raises
    ------
    ScenarioError
        If a change makes no valid scenario, or changes what can't change in mid-run.
    """
    now, before, at_s = draft.copy(), first, -1.0
    for key in NOT_OF_THE_RUN:
        now.raw.pop(key, None)
    found: list[tuple[float, Scenario]] = []
    for change in first.changes:
        label = f"{draft.source(('changes',))}: [[changes]] at_s = {change.at_s:g}"
        if change.at_s <= at_s:
            raise ScenarioError(f"{label}: must be later than the change before, at {at_s:g}")
        if change.at_s >= first.horizon_s:
            raise ScenarioError(f"{label}: must be before the end, horizon_s = {first.horizon_s:g}")
        at_s = change.at_s
        now.assign_all((key, value, label) for key, value in change.set.items())
        after = checked(now)
        problems = [f"{label}: {problem}" for problem in _refused(before, after)]
        if problems:
            raise ScenarioError("\n".join(problems))
        found.append((at_s, after))
        before = after
    return found


def _refused(before: Scenario, after: Scenario) -> list[str]:
    """List the differences of two scenarios that can't change in mid-run, a sentence each."""
    old, new = (
        dict(_leaves(s.model_dump(mode="json", exclude={*NOT_OF_THE_RUN}))) for s in (before, after)
    )
    differ = [
        key for key in (*old, *(k for k in new if k not in old)) if old.get(key) != new.get(key)
    ]
    found = []
    for key in differ:
        if not any(fnmatchcase(key, pattern) for pattern in CHANGEABLE):
            reason = "a run starts from it"
        else:
            reasons = [why for pattern, why in LASTING.items() if fnmatchcase(key, pattern)]
            if not reasons:
                continue
            [reason] = reasons
        written = _as_set(key, after)
        found.append(
            f"{written}: can't change from {_shown(old.get(key))} to {_shown(new.get(key))} while "
            f"a run plays: {reason}; to compare values of it, play each from the start: "
            f"netsim sweep SCENARIO {'--seeds ' if key == 'seed' else f'--over {written}='}..."
        )
    return found or _refused_together(before, after, differ)


def _refused_together(before: Scenario, after: Scenario, differ: list[str]) -> list[str]:
    """List the changes that can't be made together although each of their keys can."""
    if before.exchange.barrier != after.exchange.barrier:
        return [
            'exchange.schedule: "rounds" has a barrier, other schedules have clocks, and neither '
            "takes over from the other while a run plays; compare them with "
            "netsim sweep SCENARIO --over exchange.schedule=..."
        ]
    on_air = any(key.partition(".")[0] == "radio" or "tx_power" in key for key in differ)
    radios = [scenario.radio for scenario in (before, after) if scenario.radio is not None]
    if on_air and any(radio.plays_frames for radio in radios):
        return [
            'radio: frames of mac "csma" with fidelity = "packet" go on as they began, and can\'t '
            'change while a run plays; set radio.fidelity = "message" and play from the start'
        ]
    return []


def _shown(value: Any) -> str:
    return "unset" if value is None else shown(value)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value in nested tables and lists, by its dotted path."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in inner:
        at = f"{path}.{key}" if path else str(key)
        if isinstance(below, dict | list | tuple) and below:
            yield from _leaves(below, at)
        else:
            yield at, below


def _as_set(key: str, scenario: Scenario) -> str:
    """A dotted path of the resolved scenario as `--set` takes it."""
    parts = key.split(".")
    if parts[0] == "algorithm" and len(parts) > 2:
        name = scenario.algorithm[int(parts[1])].name
        parts = ["algorithm", name, *(part for part in parts[2:] if part != "params")]
    return ".".join(parts)
