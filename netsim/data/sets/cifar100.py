"""CIFAR-100: small colour photographs, fine classes (Krizhevsky, 2009)."""

from typing import ClassVar, Literal

from netsim.data.sets._images import SplitImageSet


class Cifar100(SplitImageSet):
    """50,000 training and 10,000 test images of 100 classes, 3 x 32 x 32."""

    kind: Literal["cifar100"] = "cifar100"

    name: ClassVar[str] = "cifar100"
    shape: ClassVar[tuple[int, int, int]] = (3, 32, 32)
    num_classes: ClassVar[int] = 100
    full_size: ClassVar[tuple[int, int]] = (50_000, 10_000)
    mean: ClassVar[tuple[float, ...]] = (0.5067, 0.4864, 0.4410)
    std: ClassVar[tuple[float, ...]] = (0.2647, 0.2552, 0.2738)
    label_columns: ClassVar[tuple[str, ...]] = ("fine_label", "label")
    how_to_get: ClassVar[str] = (
        "hf download uoft-cs/cifar100 --repo-type dataset --local-dir <data folder>/cifar100"
    )
