"""Views against colorsys, against PyTorch's own resizing, and image by image in plain loops."""

import colorsys
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from netsim.learning.shards import Batch
from netsim.protocols.augmentation import (
    TRIES,
    VIEW_DRAWS,
    Augmentation,
    colours_jittered,
    crop,
    crop_boxes,
    grey_images,
    hue_turned,
    two_views,
    view,
)

NEUTRAL = Augmentation(crop_min=1.0, crop_ratio=1.0, flip=0.0, jitter=0.0, grayscale=0.0)
GREY = (0.2989, 0.587, 0.114)


def uniforms(n, k=VIEW_DRAWS, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).random((n, k)))


def images(n=6, channels=3, height=8, width=8, seed=1):
    return torch.from_numpy(np.random.default_rng(seed).random((n, channels, height, width)))


@pytest.mark.parametrize("channels", [1, 3])
def test_neutral_parameters_give_the_image_itself(channels):
    """To rounding: positions of whole pixels go through a division by the size."""
    x = images(channels=channels)
    assert torch.allclose(view(x, uniforms(6), NEUTRAL), x, rtol=0, atol=1e-13)
    scale = ((0.4,) * channels, (0.2,) * channels)
    assert torch.allclose(view(x, uniforms(6), NEUTRAL, scale), x, rtol=0, atol=1e-13)


def test_a_jitter_of_no_strength_gives_the_image_itself():
    still = NEUTRAL.model_copy(
        update={"jitter": 1.0, "brightness": 0.0, "contrast": 0.0, "saturation": 0.0, "hue": 0.0}
    )
    x = images()
    assert torch.allclose(view(x, uniforms(6), still), x, rtol=0, atol=1e-13)


def test_views_follow_from_their_uniforms_and_from_nothing_else():
    x, how = images(), Augmentation()
    state = torch.get_rng_state()
    first = view(x, uniforms(6), how)
    assert torch.equal(first, view(x, uniforms(6), how))
    assert not torch.equal(first, view(x, uniforms(6, seed=9), how))
    assert torch.equal(state, torch.get_rng_state())


def test_a_view_depends_on_its_own_image_and_uniforms_only():
    x, u, how = images(), uniforms(6), Augmentation()
    together = view(x, u, how)
    alone = torch.cat([view(x[i : i + 1], u[i : i + 1], how) for i in range(6)])
    assert torch.allclose(together, alone, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_pixels_stay_in_range_and_in_their_type(dtype):
    x = images(200).to(dtype)
    y = view(x, uniforms(200).to(dtype), Augmentation())
    assert y.dtype == dtype
    assert y.shape == x.shape
    assert -1e-6 <= y.min() < 0.1
    assert 0.9 < y.max() <= 1 + 1e-6


def test_scaled_images_are_changed_in_their_pixels():
    x, u, how = images(), uniforms(6), Augmentation()
    mean, deviation = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)
    m, d = (torch.tensor(v, dtype=x.dtype).view(3, 1, 1) for v in (mean, deviation))
    scaled = view((x - m) / d, u, how, (mean, deviation))
    assert torch.allclose(scaled * d + m, view(x, u, how), rtol=0, atol=1e-13)


def test_flips_and_greys_come_as_often_as_asked():
    """2,000 draws: five deviations of a share p are 5 sqrt(p (1 - p) / 2000) < 0.056."""
    x = images(1).expand(2000, -1, -1, -1)
    flipped = view(x, uniforms(2000), NEUTRAL.model_copy(update={"flip": 0.3}))
    share = (flipped - x.flip(-1)).abs().amax((1, 2, 3)) < 1e-9
    assert share.double().mean().item() == pytest.approx(0.3, abs=0.056)
    grey = view(x, uniforms(2000), NEUTRAL.model_copy(update={"grayscale": 0.2}))
    share = (grey[:, 0] - grey[:, 2]).abs().amax((1, 2)) < 1e-9
    assert share.double().mean().item() == pytest.approx(0.2, abs=0.056)


def test_a_crop_is_what_resizing_the_cut_out_piece_gives():
    """Bilinear resizing by PyTorch, which knows nothing of what surrounds the piece."""
    x = images(5, height=9, width=7)
    top, left = torch.tensor([0.0, 2, 3, 8, 0]), torch.tensor([0.0, 1, 0, 6, 2])
    height, width = torch.tensor([9.0, 4, 6, 1, 3]), torch.tensor([7.0, 5, 2, 1, 5])
    got = crop(x, *(t.double() for t in (top, left, height, width)))
    for i in range(5):
        t, le, h, w = (int(v[i]) for v in (top, left, height, width))
        piece = x[i : i + 1, :, t : t + h, le : le + w]
        wanted = F.interpolate(piece, (9, 7), mode="bilinear", align_corners=False)
        assert torch.allclose(got[i : i + 1], wanted, rtol=0, atol=1e-12)


def test_crop_boxes_are_the_first_of_ten_tries_that_fits():
    """The rule of RandomResizedCrop, image by image."""
    how = Augmentation(crop_min=0.2, crop_ratio=4 / 3)
    n, height, width = 500, 28, 32
    sizes, corner = uniforms(n, 2 * TRIES), uniforms(n, 2, seed=5)
    boxes = torch.stack(crop_boxes(sizes, corner, (height, width), how), dim=1).tolist()
    retried = 0
    for i in range(n):
        for k in range(TRIES):
            area = height * width * (0.2 + 0.8 * sizes[i, 2 * k].item())
            log_ratio = math.log(4 / 3)
            ratio = math.exp(-log_ratio + 2 * log_ratio * sizes[i, 2 * k + 1].item())
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < w <= width and 0 < h <= height:
                break
            retried += k == 0
        top = math.floor(corner[i, 0].item() * (height - h + 1))
        left = math.floor(corner[i, 1].item() * (width - w + 1))
        assert boxes[i] == [top, left, h, w]
    assert retried > 20  # so the loop above shows something


def test_crops_cover_a_fifth_to_all_of_the_image():
    how = Augmentation()
    top, left, h, w = crop_boxes(uniforms(5000, 2 * TRIES), uniforms(5000, 2), (32, 32), how)
    area = (h * w / 1024).numpy()
    assert 0.19 < area.min() < 0.21  # sides are rounded to whole pixels
    assert area.max() > 0.97
    assert (top + h <= 32).all()
    assert (left + w <= 32).all()
    assert ((w / h).log().abs() < math.log(4 / 3) + 0.08).all()


def test_where_no_try_fits_the_whole_image_is_taken():
    sizes = torch.zeros(1, 2 * TRIES, dtype=torch.float64)
    sizes[:, 0::2] = 1.0  # the whole area ...
    sizes[:, 1::2] = 1.0  # ... at the widest ratio: wider than the image
    top, left, h, w = crop_boxes(sizes, uniforms(1, 2), (16, 16), Augmentation())
    assert (top.item(), left.item(), h.item(), w.item()) == (0, 0, 16, 16)


def test_hues_turn_as_in_colorsys():
    x = images(50, height=3, width=3)
    x[0] = 0.4  # grey has no hue
    x[1, 0] = x[1, 1]  # ties
    x[2, :, 0, 0] = torch.tensor([0.0, 0.0, 0.0])
    turns = torch.linspace(-0.5, 0.5, 50, dtype=torch.float64)
    got = hue_turned(x, turns.view(-1, 1, 1, 1))
    for i in range(50):
        for a in range(3):
            for b in range(3):
                h, s, v = colorsys.rgb_to_hsv(*x[i, :, a, b].tolist())
                wanted = colorsys.hsv_to_rgb((h + turns[i].item()) % 1.0, s, v)
                assert got[i, :, a, b].tolist() == pytest.approx(wanted, abs=1e-12)


def one_change(pixel_rows, which, amount):
    """One change of one image (H, W, 3) as plain numbers."""

    def grey(p):
        return sum(weight * value for weight, value in zip(GREY, p, strict=True))

    def clamp(value):
        return min(max(value, 0.0), 1.0)

    if which == 3:
        return [
            [colorsys.hsv_to_rgb((h + amount) % 1.0, s, v) for h, s, v in row]
            for row in [[colorsys.rgb_to_hsv(*p) for p in row] for row in pixel_rows]
        ]
    factor = 1 + amount
    every = [grey(p) for row in pixel_rows for p in row]
    mean = sum(every) / len(every)
    return [
        [
            [
                clamp(factor * v + (1 - factor) * (0.0, mean, grey(p))[which])
                for v in p
            ]
            for p in row
        ]
        for row in pixel_rows
    ]  # fmt: skip


def test_colours_change_in_each_images_own_order():
    x = images(24, height=2, width=3)
    order, strengths = uniforms(24, 4, seed=3), 2 * uniforms(24, 4, seed=4) - 1
    how = Augmentation(brightness=0.6, contrast=0.5, saturation=0.9, hue=0.3)
    got = colours_jittered(x, order, strengths, how)
    orders = set()
    for i in range(24):
        rows = x[i].permute(1, 2, 0).tolist()
        turns = sorted(range(4), key=order[i].tolist().__getitem__)
        orders.add(tuple(turns))
        for which in turns:
            largest = (0.6, 0.5, 0.9, 0.3)[which]
            rows = one_change(rows, which, largest * strengths[i, which].item())
        wanted = torch.tensor(rows, dtype=torch.float64).permute(2, 0, 1)
        assert torch.allclose(got[i], wanted, rtol=0, atol=1e-12)
    assert len(orders) > 10


def test_images_of_one_channel_change_in_brightness_and_contrast_only():
    """Brightness last: x -> 1.2 (m + 0.5 (x - m)), saturation and hue between do nothing."""
    x = images(3, channels=1) * 0.5
    order = torch.tensor([[0.9, 0.1, 0.2, 0.3]], dtype=torch.float64).expand(3, -1)
    strengths = torch.tensor([[0.5, -1.0, 1.0, 1.0]], dtype=torch.float64).expand(3, -1)
    how = Augmentation(brightness=0.4, contrast=0.5, saturation=0.4, hue=0.1)
    m = x.mean((1, 2, 3), keepdim=True)
    wanted = 1.2 * (m + 0.5 * (x - m))
    assert torch.allclose(colours_jittered(x, order, strengths, how), wanted, rtol=0, atol=1e-14)
    assert torch.equal(grey_images(x), x)


def test_two_views_come_from_their_own_halves_of_the_uniforms():
    x, u = images(), uniforms(6, 2 * VIEW_DRAWS)
    both = two_views(Batch(x, torch.zeros(6), u), Augmentation())
    assert torch.equal(both[:6], view(x, u[:, :VIEW_DRAWS], Augmentation()))
    assert torch.equal(both[6:], view(x, u[:, VIEW_DRAWS:], Augmentation()))
    assert not torch.allclose(both[:6], both[6:])


def test_what_is_no_image_is_its_own_view():
    x = torch.rand(4, 9)
    assert torch.equal(two_views(Batch(x, torch.zeros(4)), Augmentation()), torch.cat([x, x]))
