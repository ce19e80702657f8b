"""SVHN: house numbers from street views, cropped digits (Netzer et al., NIPS workshop 2011)."""

from pathlib import Path
from typing import ClassVar, Literal

from netsim.data import files
from netsim.data.sets._images import SplitImageSet


class Svhn(SplitImageSet):
    """73,257 training and 26,032 test images of 10 classes, 3 x 32 x 32.

    Its third part, 531,131 easier images, is not read.
    """

    kind: Literal["svhn"] = "svhn"

    name: ClassVar[str] = "svhn"
    shape: ClassVar[tuple[int, int, int]] = (3, 32, 32)
    num_classes: ClassVar[int] = 10
    full_size: ClassVar[tuple[int, int]] = (73_257, 26_032)
    mean: ClassVar[tuple[float, ...]] = (0.4377, 0.4438, 0.4728)
    std: ClassVar[tuple[float, ...]] = (0.1980, 0.2010, 0.1970)
    how_to_get: ClassVar[str] = (
        'hf download ufldl-stanford/svhn --repo-type dataset --include "cropped_digits/*" '
        "--local-dir <data folder>/svhn"
    )

    def _files(self, folder: Path | None, pattern: str) -> list[Path]:
        places = (*files.image_folders(self.name), f"{self.name}/cropped_digits")
        return files.find_files(self.name, folder, places, (pattern,), self.how_to_get)
