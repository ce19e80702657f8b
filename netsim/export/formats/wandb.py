"""A run's metrics and traffic for Weights & Biases, offline, as `--log wandb` has them."""

from pathlib import Path

from netsim.export.trackers import from_folder

SUFFIX = ".wandb"


def write_run(folder: Path, path: Path) -> None:
    """Write a folder with what `wandb sync` sends."""
    from_folder.write(folder, "wandb", path)
