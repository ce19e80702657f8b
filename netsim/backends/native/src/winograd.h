/* Convolutions with a kernel of 3x3 and stride 1 in tiles of 2x2 results: F(2x2, 3x3) of Lavin and
   Gray, CVPR 2016. A tile meets 4x4 pixels. These, the kernel and the gradients of the results are
   each turned into 16 numbers, and the sums over channels of a tile take 16 products for each pair of
   channels where its four results by themselves take 36. Sums over channels are products of matrices,
   one for each of the 16 places, in which samples of several tiles lie side by side. */
#pragma once
#include "small_maps.h"

namespace netsim {
namespace NETSIM_VARIANT {

constexpr Index kPlaces = 16;

/* Places of the scratch, as `netsim/backends/native/plan.py` sizes it. */
template <class T> struct Tiling {
  Index B, across, all, most;  // samples; tiles of a row, of the map, of a block
  Index C, O, P, pitch;        // channels; distance of rows of weights, of rows of a block
  Index weights, in, out;      // distances of places: kernels, pixels, results
  T *u, *du, *v, *y, *turned;

  Tiling(const Op& op, Machine<T>& m) {
    constexpr Index L = kLanes<T>;
    B = m.samples;
    across = (op.out_width + 1) / 2;
    all = across * ((op.out_height + 1) / 2);
    most = op.staged_step;
    C = op.channels;
    O = op.out_channels;
    P = op.staged_height;
    pitch = op.staged_pitch;
    weights = O * P;
    in = C * pitch + L;
    out = O * pitch + L;
    u = m.value(op.daux);
    du = u + kPlaces * weights;
    v = du + kPlaces * weights;
    y = v + kPlaces * in;
    turned = y + kPlaces * out;
  }
  /* Vectors of `count` tiles with all that a store of the last one reaches. */
  NETSIM_INLINE Index vectors(Index count) const {
    return rounded<T>((count - 1) * B + rounded<T>(B)) / kLanes<T>;
  }
};

/* Kernels, [tap][output channel][input channel]: as they are packed, or else turned. */
template <class T> const T* taps_of_kernels(const Op& op, Machine<T>& m, const Tiling<T>& t) {
  if (op.taps_h) return m.weights + op.weight;
  const T* from = m.weights + op.weight;
  for (Index o = 0; o < t.O; ++o, from += t.C * 9)
    for (Index k = 0; k < 9; ++k) {
      T* to = t.turned + k * t.weights + o * t.P;
      for (Index c = 0; c < t.C; ++c) to[c] = from[c * 9 + k];
      zero(to + t.C, rounded<T>(t.C) - t.C);
    }
  return t.turned;
}

template <class T> void winograd_kernels(const Op& op, Machine<T>& m, const Tiling<T>& t) {
  const T* taps = taps_of_kernels(op, m, t);
  const T half = static_cast<T>(0.5);
  for (Index o = 0; o < t.O; ++o)
    for (Index c = 0; c < t.C; c += kLanes<T>) {
      const Index at = o * t.P + c;
      Vec<T> g[4][3];
#pragma GCC unroll 3
      for (int l = 0; l < 3; ++l) {
        const Vec<T> a = load<T>(taps + l * t.weights + at);
        const Vec<T> b = load<T>(taps + (3 + l) * t.weights + at);
        const Vec<T> d = load<T>(taps + (6 + l) * t.weights + at);
        g[0][l] = a;
        g[1][l] = (a + d + b) * half;
        g[2][l] = (a + d - b) * half;
        g[3][l] = d;
      }
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        T* to = t.u + 4 * k * t.weights + at;
        const Vec<T> ends = g[k][0] + g[k][2];
        store<T>(to, g[k][0]);
        store<T>(to + t.weights, (ends + g[k][1]) * half);
        store<T>(to + 2 * t.weights, (ends - g[k][1]) * half);
        store<T>(to + 3 * t.weights, g[k][2]);
      }
    }
}

/* The way back: gradients of kernels from those of their 16 numbers. */
template <class T> void winograd_sink(const Op& op, Machine<T>& m, const Tiling<T>& t) {
  const Sink<T> sink = m.sink(op.weight);
  const T half = static_cast<T>(0.5);
  const bool packed = op.taps_h;
  for (Index o = 0; o < t.O; ++o)
    for (Index c = 0; c < t.C; c += kLanes<T>) {
      const Index at = o * t.P + c;
      Vec<T> g[3][4];
#pragma GCC unroll 4
      for (int l = 0; l < 4; ++l) {
        const T* from = t.du + l * t.weights + at;
        const Vec<T> b = load<T>(from + 4 * t.weights), d = load<T>(from + 8 * t.weights);
        g[0][l] = load<T>(from) + (b + d) * half;
        g[1][l] = (b - d) * half;
        g[2][l] = load<T>(from + 12 * t.weights) + (b + d) * half;
      }
#pragma GCC unroll 3
      for (int k = 0; k < 3; ++k) {
        const Vec<T> both = (g[k][1] + g[k][2]) * half;
        const Vec<T> found[3] = {g[k][0] + both, (g[k][1] - g[k][2]) * half, g[k][3] + both};
#pragma GCC unroll 3
        for (int l = 0; l < 3; ++l) {
          const Index tap = (3 * k + l) * t.weights + at;
          if (packed) sink.put(tap, found[l]);
          else store<T>(t.turned + tap, found[l]);
        }
      }
    }
  if (packed) return;
  T* row = t.v;  // no longer needed
  for (Index o = 0; o < t.O; ++o) {
    for (Index k = 0; k < 9; ++k) {
      const T* from = t.turned + k * t.weights + o * t.P;
      for (Index c = 0; c < t.C; ++c) row[c * 9 + k] = from[c];
    }
    sink.at(o * t.C * 9).put_all(row, t.C * 9);
  }
}

/* Calls f(row, column) of the first result of `count` tiles from `first` on. */
template <class F> NETSIM_INLINE void each_tile(Index across, Index first, Index count, F f) {
  Index h = first / across, w = first % across;
  for (Index i = 0; i < count; ++i) {
    f(i, 2 * h, 2 * w);
    if (++w == across) w = 0, ++h;
  }
}

/* The 4x4 pixels of tiles: differences and sums of rows, then of columns. */
template <class T>
void winograd_pixels(const Op& op, const Machine<T>& m, const Tiling<T>& t, Index first, Index count) {
  for (Index c = 0; c < t.C; ++c) {
    const T* map = m.value(op.in) + c * op.height * op.pitch;
    T* row = t.v + c * t.pitch;
    each_tile(t.across, first, count, [&](Index i, Index top, Index left) {
      const Index h = top - op.pad_h, w = left - op.pad_w;
      const bool inside = h >= 0 && h + 4 <= op.height && w >= 0 && w + 4 <= op.width;
      const T* from = map + h * op.pitch + w * t.B;
      for (Index b = 0; b < t.B; b += kLanes<T>) {
        Vec<T> d[4][4];
        if (inside) {
#pragma GCC unroll 4
          for (int k = 0; k < 4; ++k)
#pragma GCC unroll 4
            for (int l = 0; l < 4; ++l) d[k][l] = load<T>(from + k * op.pitch + l * t.B + b);
        } else {
#pragma GCC unroll 4
          for (int k = 0; k < 4; ++k)
#pragma GCC unroll 4
            for (int l = 0; l < 4; ++l) {
              const bool meets = h + k >= 0 && h + k < op.height && w + l >= 0 && w + l < op.width;
              d[k][l] = meets ? load<T>(from + k * op.pitch + l * t.B + b) : Vec<T>{};
            }
        }
        T* to = row + i * t.B + b;
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
          Vec<T> r[4];
#pragma GCC unroll 4
          for (int l = 0; l < 4; ++l)
            r[l] = k == 0 ? d[0][l] - d[2][l] : k == 1 ? d[1][l] + d[2][l]
                 : k == 2 ? d[2][l] - d[1][l] : d[1][l] - d[3][l];
          store<T>(to + 4 * k * t.in, r[0] - r[2]);
          store<T>(to + (4 * k + 1) * t.in, r[1] + r[2]);
          store<T>(to + (4 * k + 2) * t.in, r[2] - r[1]);
          store<T>(to + (4 * k + 3) * t.in, r[1] - r[3]);
        }
      }
    });
  }
}

/* The 2x2 results of tiles from their 16 sums. */
template <class T>
void winograd_results(const Op& op, const Machine<T>& m, const Tiling<T>& t, Index first, Index count) {
  for (Index o = 0; o < t.O; ++o) {
    T* map = m.value(op.out) + o * op.out_height * op.out_pitch;
    const T* row = t.y + o * t.pitch;
    const Vec<T> bias = splat<T>(op.bias < 0 ? T{} : m.weights[op.bias + o]);
    each_tile(t.across, first, count, [&](Index i, Index h, Index w) {
      const bool below = h + 1 < op.out_height, right = w + 1 < op.out_width;
      T* to = map + h * op.out_pitch + w * t.B;
      // Columns go one after the other: what is written behind the last sample is written again.
      for (int l = 0; l < (right ? 2 : 1); ++l)
        for (Index b = 0; b < t.B; b += kLanes<T>) {
          const T* from = row + i * t.B + b;
          Vec<T> s[4];
#pragma GCC unroll 4
          for (int k = 0; k < 4; ++k, from += 4 * t.out) {
            const Vec<T> one = load<T>(from + t.out), two = load<T>(from + 2 * t.out);
            s[k] = l ? one - two - load<T>(from + 3 * t.out) : load<T>(from) + one + two;
          }
          store<T>(to + l * t.B + b, s[0] + s[1] + s[2] + bias);
          if (below) store<T>(to + op.out_pitch + l * t.B + b, s[1] - s[2] - s[3] + bias);
        }
    });
  }
}

template <class T> void winograd_forward(const Op& op, Machine<T>& m) {
  const Tiling<T> t(op, m);
  winograd_kernels(op, m, t);
  for (Index first = 0, count; first < t.all; first += count) {
    count = part(t.all - first, t.most);
    winograd_pixels(op, m, t, first, count);
    for (Index p = 0; p < kPlaces; ++p) {
      ProductTask<T> task{one_loop(t.C, 1, t.pitch), t.u + p * t.weights, t.P, t.v + p * t.in,
                          t.y + p * t.out, t.pitch, Store::kSet, nullptr, {}};
      product<T>(task, t.O, t.vectors(count));
    }
    winograd_results(op, m, t, first, count);
  }
  clear_tails(m.value(op.out), t.O * op.out_height, op.out_width * t.B, op.out_pitch);
}

/* Gradients of the 16 sums of tiles from those of their 2x2 results. */
template <class T>
void winograd_spread(const Op& op, const Machine<T>& m, const Tiling<T>& t, Index first, Index count) {
  for (Index o = 0; o < t.O; ++o) {
    const T* map = m.value(op.dout) + o * op.out_height * op.out_pitch;
    T* row = t.y + o * t.pitch;
    each_tile(t.across, first, count, [&](Index i, Index h, Index w) {
      const bool below = h + 1 < op.out_height, right = w + 1 < op.out_width;
      const T* from = map + h * op.out_pitch + w * t.B;
      for (Index b = 0; b < t.B; b += kLanes<T>) {
        const Vec<T> none{};
        const Vec<T> a = load<T>(from + b), c = right ? load<T>(from + t.B + b) : none;
        const Vec<T> d = below ? load<T>(from + op.out_pitch + b) : none;
        const Vec<T> e = below && right ? load<T>(from + op.out_pitch + t.B + b) : none;
        const Vec<T> r[4][2] = {{a, c}, {a + d, c + e}, {a - d, c - e}, {-d, -e}};
        T* to = row + i * t.B + b;
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k, to += 4 * t.out) {
          store<T>(to, r[k][0]);
          store<T>(to + t.out, r[k][0] + r[k][1]);
          store<T>(to + 2 * t.out, r[k][0] - r[k][1]);
          store<T>(to + 3 * t.out, -r[k][1]);
        }
      }
    });
  }
}

/* Adds to the gradient by the input what tiles give their 4x4 pixels. */
template <class T>
void winograd_gather(const Op& op, const Machine<T>& m, const Tiling<T>& t, Index first, Index count) {
  for (Index c = 0; c < t.C; ++c) {
    T* map = m.value(op.din) + c * op.height * op.pitch;
    const T* row = t.v + c * t.pitch;
    each_tile(t.across, first, count, [&](Index i, Index top, Index left) {
      const Index h = top - op.pad_h, w = left - op.pad_w;
      for (Index b = 0; b < t.B; b += kLanes<T>) {
        const T* from = row + i * t.B + b;
        const bool whole = b + kLanes<T> <= t.B;
        const Mask<T> lanes = first_lanes<T>(t.B - b);
        Vec<T> r[4][4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k, from += 4 * t.in) {
          const Vec<T> one = load<T>(from + t.in), two = load<T>(from + 2 * t.in);
          r[k][0] = load<T>(from);
          r[k][1] = one - two + load<T>(from + 3 * t.in);
          r[k][2] = one + two - load<T>(from);
          r[k][3] = -load<T>(from + 3 * t.in);
        }
#pragma GCC unroll 4
        for (int l = 0; l < 4; ++l) {
          if (w + l < 0 || w + l >= op.width) continue;
          const Vec<T> d[4] = {r[0][l], r[1][l] - r[2][l] + r[3][l], r[1][l] + r[2][l] - r[0][l],
                               -r[3][l]};
          T* to = map + h * op.pitch + (w + l) * t.B + b;
#pragma GCC unroll 4
          for (int k = 0; k < 4; ++k, to += op.pitch) {
            if (h + k < 0 || h + k >= op.height) continue;
            store<T>(to, load<T>(to) + (whole ? d[k] : select<T>(lanes, d[k], Vec<T>{})));
          }
        }
      }
    });
  }
}

/* Samples of a block that are added up at a time: their vectors stay in the fast cache. */
constexpr Index kSummed = 128;

template <class T> void winograd_backward(const Op& op, Machine<T>& m) {
  const Tiling<T> t(op, m);
  const bool wanted = op.din >= 0;
  if (wanted) {
    winograd_kernels(op, m, t);
    zero(m.value(op.din), t.C * op.height * op.pitch);
  }
  for (Index first = 0, count; first < t.all; first += count) {
    count = part(t.all - first, t.most);
    winograd_pixels(op, m, t, first, count);
    winograd_spread(op, m, t, first, count);
    for (Index p = 0; p < kPlaces; ++p) {
      T *v = t.v + p * t.in, *y = t.y + p * t.out;
      transpose(v, t.pitch, t.turned, t.P, t.C, count * t.B);
      for (Index n = 0, some; n < count * t.B; n += some) {
        some = part(count * t.B - n, kSummed);
        ProductTask<T> task{one_loop(some, 1, t.P), y + n, t.pitch, t.turned + n * t.P,
                            t.du + p * t.weights, t.P, first || n ? Store::kAdd : Store::kSet,
                            nullptr, {}};
        product<T>(task, t.O, rounded<T>(t.C) / kLanes<T>);
      }
      if (!wanted) continue;
      ProductTask<T> task{one_loop(t.O, t.P, t.pitch), t.u + p * t.weights, 1, y, v, t.pitch,
                          Store::kSet, nullptr, {}};
      product<T>(task, t.C, t.vectors(count));
    }
    if (wanted) winograd_gather(op, m, t, first, count);
  }
  winograd_sink(op, m, t);
}

}  // namespace NETSIM_VARIANT
}  // namespace netsim
