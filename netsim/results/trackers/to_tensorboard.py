"""Event files of TensorBoard, by PyTorch's own writer.

A step is a millisecond of virtual time, or a finer one where evaluations are closer; the time of a
point is its virtual time, too, so that the axis "relative" counts virtual seconds. What is against
bits has kilobits on the air as its steps.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from netsim.results.trackers.scalars import flat

NAME = "tensorboard"
_AGAINST_BITS = "against_kilobits"
_UNITS = (("ms", 1e3), ("us", 1e6), ("ns", 1e9))


class Writer:
    """Writes the scalars of one run.

    Parameters
    ----------
    folder : Path
        Of the run.
    title : str
    scenario : mapping
        Resolved.
    """

    def __init__(self, folder: Path, title: str, scenario: Mapping[str, Any]) -> None:
        self._scenario = scenario
        every_s = scenario["metrics"].get("every_s") or scenario["horizon_s"] / 20
        unit, self._per_s = next((u for u in _UNITS if every_s * u[1] >= 1), _UNITS[-1])
        self._writer = SummaryWriter(log_dir=str(folder / NAME))
        text = f"{title}; a step is 1 {unit} of virtual time\n\n```toml\n"
        self._writer.add_text("scenario", f"{text}{tomli_w.dumps(scenario)}```", 0, walltime=0.0)

    def write(self, found: Mapping[str, float], t_s: float, bits: int) -> None:
        """See `tracker.Writer`."""
        for name, value in found.items():
            self._writer.add_scalar(name, value, round(t_s * self._per_s), walltime=t_s)
            if name.endswith("/mean"):
                against = f"{_AGAINST_BITS}/{name.removesuffix('/mean')}"
                self._writer.add_scalar(against, value, round(bits / 1e3), walltime=t_s)

    def finish(self, last: Mapping[str, float]) -> None:
        """See `tracker.Writer`."""
        to = self._writer._get_file_writer()  # type: ignore[no-untyped-call]
        chosen = flat(self._scenario)
        for summary in hparams(chosen, dict(last)):  # type: ignore[no-untyped-call]
            to.add_summary(summary)
        for name, value in last.items():
            self._writer.add_scalar(name, value, 0, walltime=0.0)

    def close(self) -> None:
        """See `tracker.Writer`."""
        self._writer.close()
