"""CIFAR-10: small colour photographs (Krizhevsky, 2009)."""

from typing import ClassVar, Literal

from netsim.data.sets._images import SplitImageSet


class Cifar10(SplitImageSet):
    """50,000 training and 10,000 test images of 10 classes, 3 x 32 x 32."""

    kind: Literal["cifar10"] = "cifar10"

    name: ClassVar[str] = "cifar10"
    shape: ClassVar[tuple[int, int, int]] = (3, 32, 32)
    num_classes: ClassVar[int] = 10
    full_size: ClassVar[tuple[int, int]] = (50_000, 10_000)
    mean: ClassVar[tuple[float, ...]] = (0.4913, 0.4821, 0.4464)
    std: ClassVar[tuple[float, ...]] = (0.2470, 0.2435, 0.2617)
    how_to_get: ClassVar[str] = (
        "hf download uoft-cs/cifar10 --repo-type dataset --local-dir <data folder>/cifar10"
    )
