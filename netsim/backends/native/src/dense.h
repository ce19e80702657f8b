/* Samples into the workspace, linear layers, embeddings, and the way from maps to dense values. */
#pragma once
#include "machine.h"

namespace netsim {
namespace NETSIM_VARIANT {

template <class T> void input_map(const Op& op, Machine<T>& m) {
  const Index rows = op.channels * op.height, width = op.width, B = m.samples;
  const T* data = static_cast<const T*>(m.call->x);
  T* y = m.value(op.out);
  constexpr Index kStripe = 16;  // samples whose rows stay in the cache while columns advance
  for (Index r = 0; r < rows; ++r)
    for (Index b0 = 0; b0 < B; b0 += kStripe) {
      const Index n = B - b0 < kStripe ? B - b0 : kStripe;
      const T* from[kStripe];
      for (Index b = 0; b < n; ++b) from[b] = data + (m.index[b0 + b] * rows + r) * width;
      T* to = y + r * op.out_pitch + b0;
      for (Index i = 0; i < width; ++i, to += B)
        for (Index b = 0; b < n; ++b) to[b] = from[b][i];
    }
}

template <class T> void input_dense(const Op& op, Machine<T>& m) {
  const T* data = static_cast<const T*>(m.call->x);
  for (Index b = 0; b < m.samples; ++b)
    copy(m.value(op.out) + b * op.out_pitch, data + m.index[b] * op.channels, op.channels);
}

template <class T> void linear_forward(const Op& op, Machine<T>& m) {
  const T* bias = op.bias < 0 ? nullptr : m.weights + op.bias;
  const Index vectors = rounded<T>(op.channels) / kLanes<T>;
  DotsTask<T> task{1, vectors, m.value(op.in), op.pitch, 0, m.weights + op.weight, m.offsets(op), 0,
                   m.value(op.out), op.out_pitch, bias, false};
  dots<T>(task, m.samples, op.out_channels, false);
}

/* Weights of one block, in bytes: they stay in the cache between the two products. */
constexpr Index kLinearBlock = 1 << 18;

template <class T> void linear_backward(const Op& op, Machine<T>& m) {
  const Index B = m.samples, K = op.pitch, N = op.out_channels;
  const Index vectors = rounded<T>(op.channels) / kLanes<T>;
  const T *x = m.value(op.in), *dy = m.value(op.dout);
  T* dx = m.value(op.din);
  Index block = kLinearBlock / (K * static_cast<Index>(sizeof(T)));
  block = block < 16 ? 16 : block;
  const bool far = N * K * static_cast<Index>(sizeof(T)) > kFarBytes;
  for (Index n = 0; n < N; n += block) {
    const Index rows = N - n < block ? N - n : block;
    const T* w = m.weights + op.weight + n * K;
    if (dx) {
      ProductTask<T> task{one_loop(rows, 1, K), dy + n, op.out_pitch, w, dx, K,
                          n ? Store::kAdd : Store::kSet, nullptr, {}};
      product<T>(task, B, vectors);
    }
    ProductTask<T> task{one_loop(B, op.out_pitch, K), dy + n, 1, x, nullptr, K, Store::kSink,
                        nullptr, m.sink(op.weight + n * K), far};
    product<T>(task, rows, vectors, true);
  }
  if (op.bias < 0) return;
  const Sink<T> sink = m.sink(op.bias);
  for (Index n = 0; n < N; n += kLanes<T>) {
    Vec<T> total{};
    for (Index b = 0; b < B; ++b) total += load<T>(dy + b * op.out_pitch + n);
    sink.put(n, total);
  }
}

template <class T> void flatten_forward(const Op& op, Machine<T>& m) {
  const T* x = m.value(op.in);
  T* y = m.value(op.out);
  const Index B = m.samples, rows = op.channels * op.height, K = op.out_pitch;
  for (Index r = 0; r < rows; ++r)
    for (Index b = 0; b < B; ++b) {
      const T* from = x + r * op.pitch + b;
      T* to = y + b * K + r * op.width;
      for (Index i = 0; i < op.width; ++i) to[i] = from[i * B];
    }
}

template <class T> void flatten_backward(const Op& op, Machine<T>& m) {
  const T* dy = m.value(op.dout);
  T* dx = m.value(op.din);
  const Index B = m.samples, rows = op.channels * op.height, K = op.out_pitch;
  for (Index r = 0; r < rows; ++r)
    for (Index b = 0; b < B; ++b) {
      T* to = dx + r * op.pitch + b;
      const T* from = dy + b * K + r * op.width;
      for (Index i = 0; i < op.width; ++i) to[i * B] = from[i];
    }
  clear_tails(dx, rows, op.width * B, op.pitch);
}

/* Numbers that are not among the rows give the status of a bad sample. */
template <class T> void embedding_forward(const Op& op, Machine<T>& m) {
  const int64_t* data = static_cast<const int64_t*>(m.call->x);
  for (Index b = 0; b < m.samples; ++b)
    for (Index t = 0; t < op.channels; ++t) {
      const int64_t id = data[m.index[b] * op.channels + t];
      if (id < 0 || id >= op.count) {
        m.status = kBadSample;
        continue;
      }
      copy(m.value(op.out) + b * op.out_pitch + t * op.width,
           m.weights + op.weight + id * op.width, op.width);
    }
}

template <class T> void embedding_backward(const Op& op, Machine<T>& m) {
  const int64_t* data = static_cast<const int64_t*>(m.call->x);
  T* gradient = m.value(op.aux);
  zero(gradient, op.count * op.width);
  for (Index b = 0; b < m.samples; ++b)
    for (Index t = 0; t < op.channels; ++t) {
      const int64_t id = data[m.index[b] * op.channels + t];
      if (id < 0 || id >= op.count || id == op.first) continue;  // `first` is the padding
      const T* dy = m.value(op.dout) + b * op.out_pitch + t * op.width;
      for (Index i = 0; i < op.width; ++i) gradient[id * op.width + i] += dy[i];
    }
  m.sink(op.weight).put_all(gradient, op.count * op.width);
}

/* Parameters that no layer of this pass reads have a gradient of zero. With momentum alone, and none
   from before, they stay what they are. */
template <class T> void unused_backward(const Op& op, Machine<T>& m) {
  if (m.fused && !m.call->states) return;
  const Sink<T> sink = m.sink(op.weight);
  for (Index i = 0; i < op.count; ++i) sink.put_one(i, 0);
}

}  // namespace NETSIM_VARIANT
}  // namespace netsim
