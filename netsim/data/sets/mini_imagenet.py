"""MiniImageNet: 100 classes of ImageNet, as a classification task of 600 images a class."""

from typing import ClassVar, Literal

from netsim.data.sets._images import SplitImageSet


class MiniImagenet(SplitImageSet):
    """50,000 training and 10,000 test images of 100 classes, scaled to 3 x 84 x 84.

    The split of L2C (Li et al., CVPR 2022): 500 and 100 images a class. Taken is the collection
    `timm/mini-imagenet`, whose images keep their size and whose part called validation makes the
    10,000; its classes are not those of the few-shot benchmark of Vinyals et al., 2016. In memory
    the images take 5 GB.
    """

    kind: Literal["mini_imagenet"] = "mini_imagenet"

    name: ClassVar[str] = "mini_imagenet"
    shape: ClassVar[tuple[int, int, int]] = (3, 84, 84)
    num_classes: ClassVar[int] = 100
    full_size: ClassVar[tuple[int, int]] = (50_000, 10_000)
    test_part: ClassVar[str] = "validation"
    rescaled: ClassVar[bool] = True
    mean: ClassVar[tuple[float, ...]] = (0.485, 0.456, 0.406)  # of ImageNet
    std: ClassVar[tuple[float, ...]] = (0.229, 0.224, 0.225)
    how_to_get: ClassVar[str] = (
        "hf download timm/mini-imagenet --repo-type dataset --local-dir <data folder>/mini_imagenet"
    )
