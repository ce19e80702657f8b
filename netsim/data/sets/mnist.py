"""MNIST: handwritten digits (LeCun, Bottou, Bengio, Haffner, Proc. IEEE 1998)."""

from typing import ClassVar, Literal

from netsim.data.sets._images import SplitImageSet


class Mnist(SplitImageSet):
    """60,000 training and 10,000 test images of 10 digits, 1 x 28 x 28."""

    kind: Literal["mnist"] = "mnist"

    name: ClassVar[str] = "mnist"
    shape: ClassVar[tuple[int, int, int]] = (1, 28, 28)
    num_classes: ClassVar[int] = 10
    full_size: ClassVar[tuple[int, int]] = (60_000, 10_000)
    mean: ClassVar[tuple[float, ...]] = (0.1307,)
    std: ClassVar[tuple[float, ...]] = (0.3081,)
    how_to_get: ClassVar[str] = (
        "hf download ylecun/mnist --repo-type dataset --local-dir <data folder>/mnist"
    )
