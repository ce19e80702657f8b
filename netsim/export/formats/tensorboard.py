"""A run's metrics and traffic as event files of TensorBoard, as `--log tensorboard` has them."""

from pathlib import Path

from netsim.export.trackers import from_folder

SUFFIX = ".tensorboard"


def write_run(folder: Path, path: Path) -> None:
    """Write a folder for `tensorboard --logdir`."""
    from_folder.write(folder, "tensorboard", path)
