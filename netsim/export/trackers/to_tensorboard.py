"""Event files of TensorBoard, by PyTorch's own writer.

A step is a millisecond of virtual time, or a finer unit where evaluations are not at whole ones, so
that each has a step of its own. The time of a point is its virtual time, too: the axis "relative"
counts virtual seconds. What is against bits has kilobits on the air as its steps. Values are
float32.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from netsim.export.trackers.scalars import Point, flat
from netsim.units import to_ns

NEEDS = ("tensorboard", "torch.utils.tensorboard")
"""Modules that have to be importable."""
NAME = "tensorboard"
_AGAINST_BITS = "against_kilobits"
_UNITS = (("ms", 1_000_000), ("us", 1_000), ("ns", 1))
"""Units of steps, and their lengths [ns]."""


class Writer:
    """Writer of the scalars of one run.

    Parameters
    ----------
    folder : Path
        Of the run.
    scenario : mapping
        Resolved.
    """

    def __init__(self, folder: Path, title: str, scenario: Mapping[str, Any]) -> None:
        from torch.utils.tensorboard import SummaryWriter  # here: it is an extra

        self._scenario = scenario
        horizon_s = scenario.get("horizon_s", 0)
        every_s = scenario.get("metrics", {}).get("every_s") or horizon_s / 20
        instants_ns = to_ns(every_s), to_ns(horizon_s)  # evaluations: multiples, and the end
        unit, self._step_ns = next(u for u in _UNITS if not any(t % u[1] for t in instants_ns))
        self._writer = SummaryWriter(log_dir=str(folder / NAME))
        text = f"{title}; a step is 1 {unit} of virtual time\n\n```toml\n"
        self._writer.add_text("scenario", f"{text}{tomli_w.dumps(scenario)}```", 0, walltime=0.0)

    def write(self, point: Point) -> None:
        t_s, step = point.t_s, to_ns(point.t_s) // self._step_ns
        for name, value in point.values.items():
            self._writer.add_scalar(name, value, step, walltime=t_s)
            if name.endswith("/mean"):
                against = f"{_AGAINST_BITS}/{name.removesuffix('/mean')}"
                self._writer.add_scalar(against, value, round(point.bits / 1e3), walltime=t_s)

    def finish(self, last: Mapping[str, float]) -> None:
        from torch.utils.tensorboard.summary import hparams

        to = self._writer._get_file_writer()  # type: ignore[no-untyped-call]
        chosen = flat(self._scenario)
        for summary in hparams(chosen, dict(last)):  # type: ignore[no-untyped-call]
            to.add_summary(summary)
        for name, value in last.items():
            self._writer.add_scalar(name, value, 0, walltime=0.0)

    def close(self) -> None:
        self._writer.close()
