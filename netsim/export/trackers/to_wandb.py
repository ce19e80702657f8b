"""Runs of Weights & Biases, kept on this machine unless their user asks for more.

Offline nothing is sent; `wandb sync FOLDER` does that later. Neither the machine, its load, the
terminal nor code is recorded: what a run is is in its scenario.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # read when it is imported
os.environ.setdefault("WANDB_SILENT", "true")

from netsim.export.trackers.scalars import Point

NEEDS = ("wandb",)
"""Modules that have to be importable."""
PROJECT = "netsim"
TIME, BITS = "virtual_s", "kilobits_on_air"


class Writer:
    """Writer of the scalars of one run.

    Parameters
    ----------
    folder : Path
        Of the run.
    scenario : mapping
        Resolved.
    online : bool
        Whether they are sent to its server, too.
    """

    def __init__(
        self, folder: Path, title: str, scenario: Mapping[str, Any], online: bool = False
    ) -> None:
        import wandb  # here: it is an extra, and takes a second

        settings = wandb.Settings(
            console="off",
            silent=True,
            disable_code=True,
            disable_git=True,
            disable_job_creation=True,
            x_disable_machine_info=True,
            x_disable_meta=True,
            x_disable_stats=True,
            host="",
            x_save_requirements=False,
        )
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=title,
            dir=str(folder),
            config=dict(scenario),
            mode="online" if online else "offline",
            reinit="create_new",
            settings=settings,
        )
        self._run.define_metric("*", step_metric=TIME)
        self._due: dict[str, float] = {}
        self._has_ended = False

    def write(self, point: Point) -> None:
        """See `tracker.Writer`; what belongs to one instant is one step."""
        if self._due and self._due[TIME] != point.t_s:
            self._send()
        self._due |= {**point.values, TIME: point.t_s, BITS: point.bits / 1e3}

    def _send(self) -> None:
        if self._due:
            self._run.log(self._due)
        self._due = {}

    def finish(self, last: Mapping[str, float]) -> None:
        self._send()
        self._run.summary.update(dict(last))
        self._has_ended = True

    def close(self) -> None:
        self._send()
        self._run.finish(exit_code=0 if self._has_ended else 1)  # 1: shown as failed
