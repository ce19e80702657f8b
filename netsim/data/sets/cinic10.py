"""CINIC-10: small photographs of CIFAR-10 and ImageNet (Darlow et al., arXiv:1810.03505, 2018)."""

from typing import ClassVar, Literal

from netsim.data.sets._images import SplitImageSet


class Cinic10(SplitImageSet):
    """90,000 training and 90,000 test images of 10 classes, 3 x 32 x 32.

    Its third part, 90,000 images for validation, is not read: nodes set aside some of their own.
    """

    kind: Literal["cinic10"] = "cinic10"

    name: ClassVar[str] = "cinic10"
    shape: ClassVar[tuple[int, int, int]] = (3, 32, 32)
    num_classes: ClassVar[int] = 10
    full_size: ClassVar[tuple[int, int]] = (90_000, 90_000)
    mean: ClassVar[tuple[float, ...]] = (0.4789, 0.4723, 0.4305)
    std: ClassVar[tuple[float, ...]] = (0.2421, 0.2383, 0.2587)
    how_to_get: ClassVar[str] = (
        "hf download flwrlabs/cinic10 --repo-type dataset --local-dir <data folder>/cinic10"
    )
