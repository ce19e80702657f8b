/* Convolutions. With padding or a stride the input is first copied ("staged"): with stride 1 into
   rows with zeros at both ends; else into `kernel_w` rows, each with the columns that one column of
   the kernel meets, so that they are neighbours again. */
#pragma once
#include "winograd.h"

namespace netsim {
namespace NETSIM_VARIANT {

template <class T> void stage(const Op& op, const T* x, T* staged, Index B) {
  for (Index c = 0; c < op.channels; ++c)
    for (Index h = 0; h < op.height; ++h) {
      const T* from = x + (c * op.height + h) * op.pitch;
      T* to = staged + (c * op.staged_height + h + op.pad_h) * op.staged_pitch;
      if (!(op.flags & kPhased)) {
        copy(to + op.pad_w * B, from, op.width * B);
        continue;
      }
      for (Index k = 0; k < op.kernel_w; ++k)
        for (Index o = 0; o < op.out_width; ++o) {
          const Index w = o * op.stride_w + k - op.pad_w;
          if (w >= 0 && w < op.width) copy(to + k * op.staged_step + o * B, from + w * B, B);
        }
    }
}

template <class T> void unstage(const Op& op, T* dx, const T* staged, Index B) {
  for (Index c = 0; c < op.channels; ++c)
    for (Index h = 0; h < op.height; ++h) {
      T* to = dx + (c * op.height + h) * op.pitch;
      const T* from = staged + (c * op.staged_height + h + op.pad_h) * op.staged_pitch;
      if (!(op.flags & kPhased)) {
        copy(to, from + op.pad_w * B, op.width * B);
        zero(to + op.width * B, op.pitch - op.width * B);
        continue;
      }
      zero(to, op.pitch);
      for (Index k = 0; k < op.kernel_w; ++k)
        for (Index o = 0; o < op.out_width; ++o) {
          const Index w = o * op.stride_w + k - op.pad_w;
          if (w < 0 || w >= op.width) continue;
          for (Index b = 0; b < B; ++b) to[w * B + b] += from[k * op.staged_step + o * B + b];
        }
    }
}

/* The input as the loops read it: where, rows of a channel, distance of rows. */
template <class T> struct Staged {
  T* at;
  Index height, pitch, step;
};
template <class T> NETSIM_INLINE Staged<T> staged_input(const Op& op, T* plain, T* staged, Index B) {
  if (op.flags & kStaged) return {staged, op.staged_height, op.staged_pitch, op.staged_step};
  return {plain, op.height, op.pitch, B};
}

template <class T> void conv_forward(const Op& op, Machine<T>& m) {
  if (op.flags & kTiles) return winograd_forward(op, m);
  if (op.flags & kSmallMap) return small_conv_forward(op, m);
  const Index B = m.samples, vectors = rounded<T>(op.out_width * B) / kLanes<T>;
  if (op.flags & kStaged) stage(op, m.value(op.in), m.value(op.aux), B);
  const Staged<T> x = staged_input(op, m.value(op.in), m.value(op.aux), B);
  const Index in = op.channels / op.groups, out = op.out_channels / op.groups;
  const Index area = op.kernel_h * op.kernel_w, K = in * area, plane = op.out_height * op.out_pitch;
  const Store kind = op.bias < 0 ? Store::kSet : Store::kBias;
  const bool far = op.out_channels * plane * static_cast<Index>(sizeof(T)) > kFarBytes;
  for (Index h = 0; h < op.out_height; ++h) {
    // Rows of padding add nothing.
    const Side down = taps_at(h * op.stride_h, op.pad_h, op.kernel_h, op.height);
    const Loops loops{in, down.count, op.kernel_w, area, op.kernel_w, 1,
                      x.height * x.pitch, x.pitch, x.step};
    const Index skipped = down.count ? down.first : 0;
    for (Index g = 0; g < op.groups; ++g) {
      const T* bias = op.bias < 0 ? nullptr : m.weights + op.bias + g * out;
      ProductTask<T> task{loops, m.weights + op.weight + g * out * K + skipped * op.kernel_w, K,
                          x.at + (g * in * x.height + h * op.stride_h + skipped) * x.pitch,
                          m.value(op.out) + g * out * plane + h * op.out_pitch, plane,
                          kind, bias, {}, far};
      product<T>(task, out, vectors);
    }
  }
}

/* Weights of one convolution, [output channel][input channel][row][column], as the way back by the
   input reads them: [group][column][output channel][row][input channel], so that what one tile takes
   for its rows are neighbours. */
template <class T> void turn_weights(const Op& op, const T* weights, T* turned) {
  const Index in = op.channels / op.groups, out = op.out_channels / op.groups;
  const Index area = op.kernel_h * op.kernel_w;
  for (Index g = 0; g < op.groups; ++g)
    for (Index k = 0; k < op.kernel_w; ++k)
      for (Index o = 0; o < out; ++o) {
        const T* from = weights + (g * out + o) * in * area + k;
        for (Index h = 0; h < op.kernel_h; ++h, from += op.kernel_w)
          for (Index i = 0; i < in; ++i) *turned++ = from[i * area];
      }
}

template <class T> void conv_by_input(const Op& op, Machine<T>& m, T* turned) {
  const Index B = m.samples, vectors = rounded<T>(op.out_width * B) / kLanes<T>;
  const T* dy = m.value(op.dout);
  T* dx = m.value(op.din);
  const Staged<T> to = staged_input(op, dx, m.value(op.daux), B);
  const Index in = op.channels / op.groups, out = op.out_channels / op.groups;
  const Index column = out * op.kernel_h * in, plane = op.out_height * op.out_pitch;
  turn_weights(op, m.weights + op.weight, turned);
  zero(to.at, op.channels * to.height * to.pitch);
  const Index first = op.flags & kStaged ? op.pad_h : 0;  // rows of padding need no gradient
  for (Index h = first; h < first + op.height; ++h) {
    // Row h met row (h - k) / stride of the result with row k of the kernel.
    Index low = h % op.stride_h, count = 0;
    while ((h - low) / op.stride_h >= op.out_height) low += op.stride_h;
    for (Index k = low; k < op.kernel_h && k <= h; k += op.stride_h) ++count;
    if (count <= 0) continue;
    const Loops loops{1, out, count, 0, op.kernel_h * in, op.stride_h * in,
                      0, plane, -op.out_pitch};
    for (Index g = 0; g < op.groups; ++g)
      for (Index k = 0; k < op.kernel_w; ++k) {
        ProductTask<T> task{loops, turned + (g * op.kernel_w + k) * column + low * in, 1,
                            dy + g * out * plane + (h - low) / op.stride_h * op.out_pitch,
                            to.at + (g * in * to.height + h) * to.pitch + k * to.step,
                            to.height * to.pitch, Store::kAdd, nullptr, {}};
        product<T>(task, in, vectors);
      }
  }
  if (op.flags & kStaged) unstage(op, dx, to.at, B);
}

/* Vectors of one row block of the products by weights: less and adding up the lanes of each result
   would take as long, more and they would leave the fast cache. */
constexpr Index kDotsVectors = 64;

template <class T> void conv_backward_by_rows(const Op& op, Machine<T>& m) {
  const Index B = m.samples, vectors = rounded<T>(op.out_width * B) / kLanes<T>;
  const T* dy = m.value(op.dout);
  const Staged<T> x = staged_input(op, m.value(op.in), m.value(op.aux), B);
  const Index in = op.channels / op.groups, out = op.out_channels / op.groups;
  const Index K = in * op.kernel_h * op.kernel_w, plane = op.out_height * op.out_pitch;
  T* found = m.value(op.aux) + op.count;  // behind the staged input
  Index block = (kDotsVectors + vectors - 1) / vectors;
  for (Index h = 0; h < op.out_height; h += block) {
    const Index rows = op.out_height - h < block ? op.out_height - h : block;
    for (Index g = 0; g < op.groups; ++g) {
      DotsTask<T> task{rows, vectors, dy + g * out * plane + h * op.out_pitch, plane, op.out_pitch,
                       x.at + (g * in * x.height + h * op.stride_h) * x.pitch, m.offsets(op),
                       op.stride_h * x.pitch, found + g * out * K, K, nullptr, h > 0};
      dots<T>(task, out, K, true);
    }
  }
  if (op.din >= 0) conv_by_input(op, m, found + op.out_channels * K);  // before the weights move
  m.sink(op.weight).put_all(found, op.out_channels * K);
}

template <class T> void conv_backward(const Op& op, Machine<T>& m) {
  if (op.flags & kTiles) winograd_backward(op, m);
  else if (op.flags & kSmallMap) small_conv_backward(op, m);
  else conv_backward_by_rows(op, m);
  if (op.bias < 0) return;
  const T* dy = m.value(op.dout);
  const Index plane = op.out_height * op.out_pitch;
  const Sink<T> sink = m.sink(op.bias);
  for (Index c = 0; c < op.out_channels; ++c) {
    Vec<T> total{};
    for (Index i = 0; i < plane; i += kLanes<T>) total += load<T>(dy + c * plane + i);
    sink.put_one(c, sum<T>(total));
  }
}

}  // namespace NETSIM_VARIANT
}  // namespace netsim
