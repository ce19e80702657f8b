/* Samples into the workspace, linear layers, embeddings, and the way from maps to dense values. */
#pragma once
#include "machine.h"

namespace netsim {
namespace NETSIM_VARIANT {

/* Rows of the images of up to `kLanes` samples, moved and mirrored as in crop_flip.h. Each lies in a
   line with black at both ends. */
template <class T> struct MovedRows {
  const Op& op;
  const Machine<T>& m;
  const Index pad, pitch;
  T* const lines;  // where pixels begin

  MovedRows(const Op& op, Machine<T>& m)
      : op(op), m(m), pad(m.call->pad < op.width ? m.call->pad : op.width),
        pitch(op.width + 2 * pad + 2 * kLanes<T>), lines(m.value(op.aux) + kLanes<T> + pad) {}

  NETSIM_INLINE T black(Index channel) const {
    return static_cast<const T*>(m.call->black)[channel];
  }
  void begin(Index channel) const {
    const T b = black(channel);
    for (Index i = 0; i < kLanes<T>; ++i)
      for (Index k = 0; k < pad; ++k)
        lines[i * pitch - 1 - k] = lines[i * pitch + op.width + k] = b;
  }
  /* Takes row r of the image of sample b; gives where a line's vectors are read, and whether backwards. */
  NETSIM_INLINE const T* take(Index i, Index b, const T* image, Index r, bool* mirrored) const {
    const T* drawn = m.draws + 3 * b;
    const T places = static_cast<T>(2 * m.call->pad + 1);
    const Index down = static_cast<Index>(drawn[0] * places) - m.call->pad;
    Index across = static_cast<Index>(drawn[1] * places) - m.call->pad;
    across = across < -pad ? -pad : across > pad ? pad : across;
    *mirrored = drawn[2] < static_cast<T>(0.5);
    T* line = lines + i * pitch;
    const Index row = r % op.height + down, channel = r / op.height;
    const T edge = black(channel);
    if (row < 0 || row >= op.height) {
      for (Index k = 0; k < op.width; ++k) line[k] = edge;
    } else {
      const T* from = image + (channel * op.height + row) * op.width;
      for (Index k = 0; k < op.width; ++k) line[k] = (from[k] - edge) + edge;
    }
    return *mirrored ? line + across + op.width - kLanes<T> : line + across;
  }
};

template <class T, int... I> NETSIM_INLINE Vec<T> reversed(Vec<T> v, Sequence<I...>) {
  return __builtin_shufflevector(v, v, (static_cast<int>(kLanes<T>) - 1 - I)...);
}

template <class T> void input_map(const Op& op, Machine<T>& m) {
  constexpr Index L = kLanes<T>;
  const Index rows = op.channels * op.height, width = op.width, B = m.samples;
  const T* data = static_cast<const T*>(m.call->x);
  const MovedRows<T> moved(op, m);
  for (Index r = 0; r < rows; ++r) {
    if (m.draws && r % op.height == 0) moved.begin(r / op.height);
    // The last samples go first: what they write behind the end of a column is written again.
    for (Index b0 = (B - 1) / L * L; b0 >= 0; b0 -= L) {
      const Index n = B - b0 < L ? B - b0 : L;
      const T* from[L];
      bool mirrored[L] = {};
      for (Index i = 0; i < n; ++i) {
        const T* image = data + m.index[b0 + i] * rows * width;
        from[i] = m.draws ? moved.take(i, b0 + i, image, r, mirrored + i) : image + r * width;
      }
      for (Index c = 0; c < width; c += L) {
        const bool whole = m.draws || c + L <= width;
        Vec<T> v[L];
        for (Index i = 0; i < L; ++i) {
          v[i] = Vec<T>{};
          if (i >= n) continue;
          if (mirrored[i]) v[i] = reversed<T>(load<T>(from[i] - c), typename Counted<L>::Type{});
          else if (whole) v[i] = load<T>(from[i] + c);
          else memcpy(v + i, from[i] + c, sizeof(T) * (width - c));
        }
        transpose_block<T, L / 2>(v);
        T* to = m.value(op.out) + r * op.out_pitch + c * B + b0;
        for (Index k = 0; k < L && c + k < width; ++k) store<T>(to + k * B, v[k]);
      }
    }
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
