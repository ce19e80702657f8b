"""Random views of images as contrastive methods use them, a whole batch at a time.

Source: Chen, Kornblith, Norouzi and Hinton, "A simple framework for contrastive learning of visual
representations" (SimCLR), ICML 2020, Appendix A, with the numbers of MAPL's code (github
SayakMukherjee/MAPL): random resized crop, horizontal flip, colour jitter, grayscale. Each step does
what torchvision's transform of that name does, tries of crops and order of jitters included.

All randomness comes in as uniforms, `VIEW_DRAWS` a sample, which the engine draws; so a view is a
function of its arguments. Departures: no blur (SimCLR has it, MAPL's code gives it probability 0);
a crop that fits in none of ten tries is the whole image (torchvision narrows it where an image is
more oblong than `crop_ratio`). Images without three channels have brightness and contrast only.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim.backends.native import views as native
from netsim.learning.shards import Batch
from netsim.registry import Fraction, Positive, Table

TRIES = 10
"""Of a crop's size."""

VIEW_DRAWS = 2 * TRIES + 2 + 1 + 1 + 4 + 4 + 1
"""Uniforms of one view of one sample: crop sizes, corner; flip; jitter, order, strengths; grey."""

LUMA = (0.2989, 0.587, 0.114)
"""Weights of red, green and blue in grey."""


class Augmentation(Table):
    """Greatest difference of two views of an image.

    Attributes
    ----------
    crop_min
        Least part of an image's area that a crop has; the greatest is all of it.
    crop_ratio
        Greatest ratio of a crop's sides.
    flip
        Probability of a mirrored view.
    jitter
        Probability that a view's colours are changed.
    brightness
        Greatest difference of the brightness's factor from 1.
    contrast
        Greatest difference of the contrast's factor from 1.
    saturation
        Greatest difference of the saturation's factor from 1.
    hue
        Greatest turn of the hue, as a part of the colour circle.
    grayscale
        Probability that a view has no colours.
    """

    crop_min: Fraction = 0.2
    crop_ratio: Positive = 4 / 3
    flip: Fraction = 0.5
    jitter: Fraction = 0.8
    brightness: Fraction = 0.4
    contrast: Fraction = 0.4
    saturation: Fraction = 0.4
    hue: Fraction = 0.1
    grayscale: Fraction = 0.2


def two_views(batch: Batch, how: Augmentation) -> Tensor:
    """Two views of each image, (2n, C, H, W), all first ones before the second.

    Samples that are no images are repeated. For a loss declared `@loss(uniforms=2 * VIEW_DRAWS)`;
    its labels are `batch.y.repeat(2)`.
    """
    if batch.x.dim() != 4:
        return torch.cat([batch.x, batch.x])
    assert batch.uniforms is not None
    views = [view(batch.x, u, how, batch.scale) for u in batch.uniforms.chunk(2, dim=1)]
    return torch.cat(views)


@torch.no_grad()
def view(
    x: Tensor,
    uniforms: Tensor,
    how: Augmentation,
    scale: tuple[tuple[float, ...], tuple[float, ...]] | None = None,
) -> Tensor:
    """One view of each image.

    Parameters
    ----------
    x : torch.Tensor
        (n, C, H, W)
    uniforms : torch.Tensor
        (n, VIEW_DRAWS) in [0, 1).
    how : Augmentation
    scale : (means, deviations) per channel, optional
        How pixels in [0, 1] became x; colours are changed in pixels.

    Returns
    -------
    torch.Tensor
        (n, C, H, W), scaled like x.
    """
    sizes, corner, flip, jitter, order, strengths, grey = torch.split(
        uniforms, [2 * TRIES, 2, 1, 1, 4, 4, 1], dim=1
    )
    boxes = crop_boxes(sizes, corner, (x.shape[-2], x.shape[-1]), how)
    if native.is_possible(x):
        means, deviations = (x.new_tensor(s).expand(x.shape[1]) for s in scale or ((0.0,), (1.0,)))
        chosen = [flip < how.flip, jitter < how.jitter, grey < how.grayscale]
        order, amount = (
            order.argsort(dim=1),
            (2.0 * strengths - 1.0)
            * strengths.new_tensor([how.brightness, how.contrast, how.saturation, how.hue]),
        )
        columns = [torch.stack(boxes, dim=1), *chosen, order, amount.gather(1, order)]
        return native.views(x, torch.cat([c.to(x.dtype) for c in columns], 1), means, deviations)
    mean, deviation = (x.new_tensor(s).view(-1, 1, 1) for s in scale or ((0.0,), (1.0,)))
    pixels = crop(x * deviation + mean, *boxes)
    if how.flip:
        pixels = torch.where(_column(flip < how.flip), pixels.flip(-1), pixels)
    if how.jitter:
        jittered = colours_jittered(pixels, order, 2.0 * strengths - 1.0, how)
        pixels = torch.where(_column(jitter < how.jitter), jittered, pixels)
    if how.grayscale:
        pixels = torch.where(_column(grey < how.grayscale), grey_images(pixels), pixels)
    return (pixels - mean) / deviation


def crop_boxes(
    sizes: Tensor, corner: Tensor, image: tuple[int, int], how: Augmentation
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the boxes to crop: the first size of ten that fits, at a uniform place.

    Parameters
    ----------
    sizes : torch.Tensor
        (n, 2 TRIES) in [0, 1): area and ratio of each try in turn.
    corner : torch.Tensor
        (n, 2) in [0, 1): from the top, from the left.
    image : (H, W)
    how : Augmentation

    Returns
    -------
    top, left, height, width : torch.Tensor
        (n,) each, whole numbers of pixels.
    """
    image_height, image_width = image
    area = (how.crop_min + (1.0 - how.crop_min) * sizes[:, 0::2]) * (image_height * image_width)
    ratio = torch.exp(math.log(how.crop_ratio) * (2.0 * sizes[:, 1::2] - 1.0))
    widths, heights = (area * ratio).sqrt().round(), (area / ratio).sqrt().round()
    fits = (widths >= 1) & (widths <= image_width) & (heights >= 1) & (heights <= image_height)
    first = fits.long().argmax(dim=1, keepdim=True)
    found = fits.gather(1, first)[:, 0]
    width = torch.where(found, widths.gather(1, first)[:, 0], float(image_width))
    height = torch.where(found, heights.gather(1, first)[:, 0], float(image_height))
    top = (corner[:, 0] * (image_height - height + 1.0)).floor()
    left = (corner[:, 1] * (image_width - width + 1.0)).floor()
    return top, left, height, width


def crop(x: Tensor, top: Tensor, left: Tensor, height: Tensor, width: Tensor) -> Tensor:
    """Each image's own crop, stretched bilinearly to the image's size.

    Parameters
    ----------
    x : torch.Tensor
        (n, C, H, W)
    top, left, height, width : torch.Tensor
        (n,) each, in pixels.

    Returns
    -------
    torch.Tensor
        (n, C, H, W)
    """
    rows = _sample_places(top, height, x.shape[-2])
    columns = _sample_places(left, width, x.shape[-1])
    shape = (len(x), x.shape[-2], x.shape[-1])
    grid = torch.stack([columns[:, None, :].expand(shape), rows[:, :, None].expand(shape)], dim=-1)
    return F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=True)


def _sample_places(begin: Tensor, length: Tensor, size: int) -> Tensor:
    """Places (n, size) along one side that a crop's pixels come from, -1 first to 1 last."""
    step = (length / size)[:, None]
    centres = torch.arange(size, device=begin.device, dtype=begin.dtype) + 0.5
    places = begin[:, None] + centres * step - 0.5
    last = (begin + length - 1.0)[:, None]
    places = torch.minimum(torch.maximum(places, begin[:, None]), last)
    return 2.0 * places / max(size - 1, 1) - 1.0


def colours_jittered(x: Tensor, order: Tensor, strengths: Tensor, how: Augmentation) -> Tensor:
    """Brightness, contrast, saturation and hue changed, in an order of each image's own.

    Parameters
    ----------
    x : torch.Tensor
        (n, C, H, W) pixels in [0, 1].
    order : torch.Tensor
        (n, 4): the change with the smallest number comes first.
    strengths : torch.Tensor
        (n, 4) in [-1, 1): of brightness, contrast, saturation and hue.
    how : Augmentation

    Returns
    -------
    torch.Tensor
        (n, C, H, W) in [0, 1].
    """
    largest = strengths.new_tensor([how.brightness, how.contrast, how.saturation, how.hue])
    amount = strengths * largest
    turns = order.argsort(dim=1)
    for place in range(4):
        which = turns[:, place : place + 1]
        own = amount.gather(1, which)
        grey = grey_images(x)
        other = torch.where(_column(which == 0), torch.zeros_like(x), grey)  # what is blended in
        other = torch.where(_column(which == 1), grey.mean((1, 2, 3), keepdim=True), other)
        blended = (x + _column(own) * (x - other)).clamp(0.0, 1.0)
        if x.shape[1] == 3:
            x = torch.where(_column(which == 3), hue_turned(x, _column(own)), blended)
        else:
            x = torch.where(_column(which >= 2), x, blended)
    return x


def grey_images(x: Tensor) -> Tensor:
    """Grey images in as many channels: (n, C, H, W); those without three channels are grey."""
    if x.shape[1] != 3:
        return x
    return (x * x.new_tensor(LUMA).view(3, 1, 1)).sum(1, keepdim=True).expand_as(x)


def hue_turned(x: Tensor, turn: Tensor) -> Tensor:
    """Colours with their hue turned by a part of the circle; saturation and value stay.

    Parameters
    ----------
    x : torch.Tensor
        (n, 3, H, W) in [0, 1].
    turn : torch.Tensor
        (n, 1, 1, 1)
    """
    value, low = x.amax(1, keepdim=True), x.amin(1, keepdim=True)
    chroma = value - low
    red, green, blue = ((value - x) / torch.where(chroma > 0, chroma, 1.0)).chunk(3, dim=1)
    r, g, _ = x.chunk(3, dim=1)
    sixths = torch.where(g == value, 2.0 + red - blue, 4.0 + green - red)
    sixths = torch.where(r == value, blue - green, sixths) + 6.0 * turn
    # Smith, "Color gamut transform pairs", 1978, the way back in closed form
    k = (x.new_tensor([5.0, 3.0, 1.0]).view(3, 1, 1) + sixths) % 6.0
    return value - chroma * torch.minimum(k, 4.0 - k).clamp(0.0, 1.0)


def _column(values: Tensor) -> Tensor:
    """(n, 1) to (n, 1, 1, 1)."""
    return values[:, :, None, None]
