"""Facts of a run and its result, in one line of numbers."""

from netsim.recording.main_metric import is_share
from netsim.recording.reader import RunFolder
from netsim.recording.summary_fields import MEASURES, row
from netsim.views import OnPage, Panel, Shown

TITLE = "In short"
PLACE = 10

_SHOWN = (
    "messages", "delivered_share", "used_share", "lost_share", "expired_share", "delay_s",
    "staleness_s", "transmitted_megabytes", "airtime_s", "energy_j", "local_steps",
)  # fmt: skip
_ALSO_ZERO = ("delivered_share", "used_share")


def of_run(run: RunFolder) -> Shown:
    """Return names with what they are, numbers spelled with their units."""
    summary = run.summary
    found = [
        ("algorithm", run.algorithm),
        ("seed", str(summary.get("seed", run.scenario.get("seed", "")))),
        ("nodes", f"{run.count:,}"),
        ("virtual time", _time(run)),
    ]
    block = summary.get(run.main.name)
    if isinstance(block, dict) and isinstance(block.get("mean"), int | float):
        share = is_share(run.main.name)
        scale, unit = (100.0, " %") if share else (1.0, "")
        std = block.get("std")
        form = ".1f" if share else ".4g"
        spread = f" (std over nodes {scale * std:{form}})" if isinstance(std, int | float) else ""
        found.append((run.main.name, f"{scale * block['mean']:{form}}{unit}{spread}"))
    numbers = row(summary) if summary else {}
    for name in _SHOWN:
        value = numbers.get(name)
        if value is not None and (value or name in _ALSO_ZERO):
            measure = MEASURES[name]
            unit = "" if measure.unit == "#" else f" {measure.unit}"
            found.append((measure.title, measure.spelled(value) + unit))
    if "wall_s" in summary:
        found.append(("wall time", f"{summary['wall_s']:.3g} s"))
    entries = [[name, value] for name, value in found if value]
    return Shown([Panel(OnPage("facts", {"entries": entries}))])


def _time(run: RunFolder) -> str:
    short = run.horizon_s and run.end_s < run.horizon_s * (1 - 1e-9) and not run.summary
    return f"{run.end_s:,.6g} of {run.horizon_s:,.6g} s" if short else f"{run.end_s:,.6g} s"
