/* Convolutions of small maps, with channels as the innermost index: weights lie as [tap][output
   channel][input channel], the input as [row][column x sample][channel]. Each pixel goes through
   those taps that meet data; taps that only ever meet padding have no place among the weights. */
#pragma once
#include "machine.h"

namespace netsim {
namespace NETSIM_VARIANT {

/* Weights of one block, in bytes: they stay in the cache while pixels go by. */
constexpr Index kTapsBlock = 1 << 17;

/* Indices k of one side, `count` of them, `step` apart. */
struct Side {
  Index first, count;
};
/* Taps that meet data where the kernel begins `at` pixels behind the start of the padding. */
NETSIM_INLINE Side taps_at(Index at, Index pad, Index kernel, Index size) {
  const Index low = at < pad ? pad - at : 0, end = size + pad - at;
  const Index high = end < kernel ? end : kernel;
  return {low, high > low ? high - low : 0};
}
/* Taps, a stride apart, that meet pixel `at`. */
NETSIM_INLINE Side taps_of(Index at, Index pad, Index kernel, Index stride, Index results) {
  const Index all = at + pad, last = all - stride * (results - 1);
  const Index low = last > all % stride ? last : all % stride;
  const Index high = all < kernel - 1 ? all : kernel - 1;
  return {low, high < low ? 0 : (high - low) / stride + 1};
}
/* Results in which tap `k` meets data. */
NETSIM_INLINE Side results_of(Index k, Index pad, Index stride, Index size, Index results) {
  const Index low = k < pad ? (pad - k + stride - 1) / stride : 0;
  const Index last = size - 1 + pad - k;
  const Index end = last < 0 ? 0 : last / stride + 1 < results ? last / stride + 1 : results;
  return {low, end > low ? end - low : 0};
}

/* Output channels of a block of at most so many bytes of weights. */
template <class T> NETSIM_INLINE Index channels_of_block(const Op& op, Index bytes) {
  const Index each = op.taps_h * op.taps_w * op.weight_pitch * static_cast<Index>(sizeof(T));
  const Index most = bytes / each / 16 * 16;
  return most < 16 ? 16 : most;
}

/* Where the weights of a tap begin, counted from the layer's. */
NETSIM_INLINE Index tap_place(const Op& op, Index h, Index w) {
  return ((h - op.tap_h) * op.taps_w + w - op.tap_w) * op.out_channels * op.weight_pitch;
}

template <class T> void small_conv_forward(const Op& op, Machine<T>& m) {
  const Index B = m.samples, C = op.weight_pitch, O = op.staged_pitch;
  const Index row = op.width * B * C, out_row = op.out_width * B;
  const Index vectors = rounded<T>(op.channels) / kLanes<T>;
  T *x = m.value(op.aux), *y = m.value(op.daux);
  for (Index h = 0; h < op.height; ++h)
    transpose(m.value(op.in) + h * op.pitch, op.height * op.pitch, x + h * row, C, op.channels,
              op.width * B);
  const Index block = channels_of_block<T>(op, kTapsBlock), tap = op.out_channels * C;
  const T* bias = op.bias < 0 ? nullptr : m.weights + op.bias;
  for (Index o = 0; o < op.out_channels; o += block) {
    const Index some = op.out_channels - o < block ? op.out_channels - o : block;
    for (Index h = 0; h < op.out_height; ++h)
      for (Index w = 0; w < op.out_width; ++w) {
        const Index top = h * op.stride_h, left = w * op.stride_w;
        const Side down = taps_at(top, op.pad_h, op.kernel_h, op.height);
        const Side right = taps_at(left, op.pad_w, op.kernel_w, op.width);
        T* to = y + (h * op.out_width + w) * B * O + o;
        // A result that meets nothing but padding has no vectors to add up.
        const bool meets = down.count > 0 && right.count > 0;
        const Index from = (top + down.first - op.pad_h) * row +
                           (left + right.first - op.pad_w) * B * C;
        const Index place = tap_place(op, down.first, right.first) + o * C;
        DotsTask<T> task{meets ? right.count : 0, vectors, x + (meets ? from : 0), C, B * C,
                         m.weights + op.weight + (meets ? place : 0), m.offsets(op), tap, to, O,
                         bias ? bias + o : nullptr, false, down.count, row, op.taps_w * tap};
        dots<T>(task, B, some, false);
      }
  }
  for (Index h = 0; h < op.out_height; ++h)
    transpose(y + h * out_row * O, O, m.value(op.out) + h * op.out_pitch,
              op.out_height * op.out_pitch, out_row, op.out_channels);
}

/* Gradient by the input, of the output channels from `o` on; `to` is laid out as the input. */
template <class T>
void small_conv_by_input(const Op& op, Machine<T>& m, T* to, Index o, Index some) {
  const Index B = m.samples, C = op.weight_pitch, tap = op.out_channels * C;
  const Index plane = op.out_height * op.out_pitch;
  const Index vectors = rounded<T>(op.channels) / kLanes<T>;
  for (Index h = 0; h < op.height; ++h)
    for (Index w = 0; w < op.width; ++w, to += B * C) {
      const Side down = taps_of(h, op.pad_h, op.kernel_h, op.stride_h, op.out_height);
      const Side right = taps_of(w, op.pad_w, op.kernel_w, op.stride_w, op.out_width);
      if (!down.count || !right.count) {
        zero(to, B * C);
        continue;
      }
      const Index out_h = (h + op.pad_h - down.first) / op.stride_h;
      const Index out_w = (w + op.pad_w - right.first) / op.stride_w;
      const Loops loops{down.count, right.count, some, -op.out_pitch, -B, plane,
                        op.stride_h * op.taps_w * tap, op.stride_w * tap, C};
      ProductTask<T> task{loops, m.value(op.dout) + o * plane + out_h * op.out_pitch + out_w * B, 1,
                          m.weights + op.weight + tap_place(op, down.first, right.first) + o * C,
                          to, C, o ? Store::kAdd : Store::kSet, nullptr, {}};
      product<T>(task, B, vectors);
    }
}

/* Gradient by the weights of output channels from `o` on. */
template <class T> void small_conv_by_weights(const Op& op, Machine<T>& m, Index o, Index some) {
  const Index B = m.samples, C = op.weight_pitch, row = op.width * B * C;
  const Index plane = op.out_height * op.out_pitch;
  const Index vectors = rounded<T>(op.channels) / kLanes<T>;
  for (Index k = op.tap_h; k < op.tap_h + op.taps_h; ++k)
    for (Index l = op.tap_w; l < op.tap_w + op.taps_w; ++l) {
      const Side down = results_of(k, op.pad_h, op.stride_h, op.height, op.out_height);
      const Side right = results_of(l, op.pad_w, op.stride_w, op.width, op.out_width);
      const bool meets = down.count > 0 && right.count > 0;
      const Index from = (down.first * op.stride_h + k - op.pad_h) * row +
                         (right.first * op.stride_w + l - op.pad_w) * B * C;
      Loops loops{down.count, right.count, B, op.out_pitch, B, 1,
                  op.stride_h * row, op.stride_w * B * C, C};
      if (op.stride_w == 1) loops = {1, down.count, right.count * B, 0, op.out_pitch, 1,
                                     0, op.stride_h * row, C};
      if (!meets) loops = {0, 0, 0, 0, 0, 0, 0, 0, 0};
      const T* dy = m.value(op.dout) + o * plane + down.first * op.out_pitch + right.first * B;
      ProductTask<T> task{loops, dy, plane, m.value(op.aux) + (meets ? from : 0), nullptr, C,
                          Store::kSink, nullptr,
                          m.sink(op.weight + tap_place(op, k, l) + o * C), true};
      product<T>(task, some, vectors, true);
    }
}

template <class T> void small_conv_backward(const Op& op, Machine<T>& m) {
  const Index B = m.samples, C = op.weight_pitch, block = channels_of_block<T>(op, 2 * kTapsBlock);
  T *dx = m.value(op.din), *found = m.value(op.daux);
  for (Index o = 0; o < op.out_channels; o += block) {
    const Index some = op.out_channels - o < block ? op.out_channels - o : block;
    if (dx) small_conv_by_input(op, m, found, o, some);  // before these weights move
    small_conv_by_weights(op, m, o, some);
  }
  if (!dx) return;
  for (Index h = 0; h < op.height; ++h)
    transpose(found + h * op.width * B * C, C, dx + h * op.pitch, op.height * op.pitch,
              op.width * B, op.channels);
  clear_tails(dx, op.channels * op.height, op.width * B, op.pitch);
}

}  // namespace NETSIM_VARIANT
}  // namespace netsim
