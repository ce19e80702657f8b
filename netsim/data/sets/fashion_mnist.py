"""Fashion-MNIST: articles of clothing (Xiao, Rasul, Vollgraf, arXiv:1708.07747)."""

from typing import ClassVar, Literal

from netsim.data.sets._images import SplitImageSet


class FashionMnist(SplitImageSet):
    """60,000 training and 10,000 test images of 10 articles, 1 x 28 x 28."""

    kind: Literal["fashion_mnist"] = "fashion_mnist"

    name: ClassVar[str] = "fashion_mnist"
    shape: ClassVar[tuple[int, int, int]] = (1, 28, 28)
    num_classes: ClassVar[int] = 10
    full_size: ClassVar[tuple[int, int]] = (60_000, 10_000)
    mean: ClassVar[tuple[float, ...]] = (0.2860,)
    std: ClassVar[tuple[float, ...]] = (0.3530,)
    how_to_get: ClassVar[str] = (
        "hf download zalando-datasets/fashion_mnist --repo-type dataset "
        "--local-dir <data folder>/fashion_mnist"
    )
