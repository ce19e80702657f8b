/* Pooling over windows of rows and columns. Vectors run over samples; what they write behind the
   last sample of a column is written again by the next one, or is cleared. */
#pragma once
#include "machine.h"

namespace netsim {
namespace NETSIM_VARIANT {

struct Window {
  Index h0, h1, w0, w1, all;  // rows, columns, and by how many an average divides
};

NETSIM_INLINE Window window(const Op& op, Index oh, Index ow) {
  if (op.flags & kAdaptive)
    return {oh * op.height / op.out_height,
            ((oh + 1) * op.height + op.out_height - 1) / op.out_height,
            ow * op.width / op.out_width,
            ((ow + 1) * op.width + op.out_width - 1) / op.out_width, 0};
  Index h0 = oh * op.stride_h - op.pad_h, w0 = ow * op.stride_w - op.pad_w;
  Index h1 = h0 + op.kernel_h, w1 = w0 + op.kernel_w;
  // What is counted ends at the padding, even where a window goes further.
  const Index low = h1 < op.height + op.pad_h ? h1 : op.height + op.pad_h;
  const Index right = w1 < op.width + op.pad_w ? w1 : op.width + op.pad_w;
  const Index all = (low - h0) * (right - w0);
  h0 = h0 < 0 ? 0 : h0;
  w0 = w0 < 0 ? 0 : w0;
  h1 = h1 < op.height ? h1 : op.height;
  w1 = w1 < op.width ? w1 : op.width;
  return {h0, h1, w0, w1, op.flags & kCountPadding ? all : 0};
}
NETSIM_INLINE Index divisor(const Window& w) {
  return w.all ? w.all : (w.h1 - w.h0) * (w.w1 - w.w0);
}

/* Calls f(window, offset of the result) for all results of channel c. */
template <class F> NETSIM_INLINE void each_window(const Op& op, Index B, Index c, F f) {
  for (Index oh = 0; oh < op.out_height; ++oh)
    for (Index ow = 0; ow < op.out_width; ++ow)
      f(window(op, oh, ow), (c * op.out_height + oh) * op.out_pitch + ow * B);
}

template <class T> void max_pool_forward(const Op& op, Machine<T>& m) {
  const Index B = m.samples;
  for (Index c = 0; c < op.channels; ++c) {
    const T* x = m.value(op.in) + c * op.height * op.pitch;
    each_window(op, B, c, [&](Window w, Index at) {
      T* y = m.value(op.out) + at;
      for (Index b = 0; b < B; b += kLanes<T>) {
        Vec<T> best = load<T>(x + w.h0 * op.pitch + w.w0 * B + b);
        for (Index h = w.h0; h < w.h1; ++h)
          for (Index i = w.w0; i < w.w1; ++i) {
            const Vec<T> v = load<T>(x + h * op.pitch + i * B + b);
            best = select<T>((v > best) | (v != v), v, best);  // NaN is larger than all
          }
        store<T>(y + b, best);
      }
    });
  }
}

template <class T> void max_pool_backward(const Op& op, Machine<T>& m) {
  const Index B = m.samples;
  zero(m.value(op.din), op.channels * op.height * op.pitch);
  for (Index c = 0; c < op.channels; ++c) {
    const T* x = m.value(op.in) + c * op.height * op.pitch;
    T* dx = m.value(op.din) + c * op.height * op.pitch;
    each_window(op, B, c, [&](Window w, Index at) {
      const T *y = m.value(op.out) + at, *dy = m.value(op.dout) + at;
      for (Index b = 0; b < B; b += kLanes<T>) {
        const Vec<T> best = load<T>(y + b);
        Mask<T> open = first_lanes<T>(B - b);  // lanes whose maximum has not been met
        const Vec<T> g = load<T>(dy + b);
        for (Index h = w.h0; h < w.h1; ++h)
          for (Index i = w.w0; i < w.w1; ++i) {
            const Index p = h * op.pitch + i * B + b;
            const Vec<T> v = load<T>(x + p);
            const Mask<T> hit = open & ((v == best) | (v != v));
            open &= ~hit;
            const Vec<T> old = load<T>(dx + p);
            store<T>(dx + p, hit ? old + g : old);
          }
      }
    });
  }
}

/* ReLU, then the maximum of squares of 2 x 2, the layers in which small networks spend time. */
template <class T> void relu_pool_forward(const Op& op, Machine<T>& m) {
  const Index B = m.samples, rows = op.channels * op.out_height;
  const Vec<T> none{};
  for (Index r = 0; r < rows; ++r) {
    const Index top = (r / op.out_height) * op.height + 2 * (r % op.out_height);
    const T *x0 = m.value(op.in) + top * op.pitch, *x1 = x0 + op.pitch;
    T* y = m.value(op.out) + r * op.out_pitch;
    for (Index i = 0; i < op.out_width; ++i, x0 += 2 * B, x1 += 2 * B, y += B)
      for (Index b = 0; b < B; b += kLanes<T>) {
        const Vec<T> p1 = load<T>(x0 + b), p2 = load<T>(x0 + B + b);
        const Vec<T> p3 = load<T>(x1 + b), p4 = load<T>(x1 + B + b);
        Vec<T> v = p2 > p1 ? p2 : p1, u = p4 > p3 ? p4 : p3;
        v = u > v ? u : v;
        v = v > none ? v : none;
        const Mask<T> odd = (p1 != p1) | (p2 != p2) | (p3 != p3) | (p4 != p4);
        store<T>(y + b, odd ? p1 + p2 + p3 + p4 : v);  // NaN if one of them is
      }
  }
}

/* Lanes of a vector, and what is there already behind them. */
template <class T> NETSIM_INLINE void put_lanes(T* to, Vec<T> v, bool all, Mask<T> lanes) {
  store<T>(to, all ? v : select<T>(lanes, v, load<T>(to)));
}

/* The gradient may take the place of the input: a vector's values are read before any of it is
   written, and what belongs to other columns stays. */
template <class T> void relu_pool_backward(const Op& op, Machine<T>& m) {
  const Index B = m.samples, rows = op.channels * op.out_height;
  const Mask<T> rest = first_lanes<T>(B % kLanes<T>);
  const Vec<T> none{};
  T* all = m.value(op.din);
  for (Index r = 0; r < rows; ++r) {
    const Index top = (r / op.out_height) * op.height + 2 * (r % op.out_height);
    const T *x0 = m.value(op.in) + top * op.pitch, *x1 = x0 + op.pitch;
    const T *y = m.value(op.out) + r * op.out_pitch, *dy = m.value(op.dout) + r * op.out_pitch;
    T *d0 = all + top * op.pitch, *d1 = d0 + op.pitch;
    for (Index i = 0; i < op.out_width; ++i) {
      for (Index b = 0; b < B; b += kLanes<T>) {
        const bool whole = b + kLanes<T> <= B;
        const Vec<T> best = load<T>(y + b), g = load<T>(dy + b);
        const Vec<T> p1 = load<T>(x0 + b), p2 = load<T>(x0 + B + b), p3 = load<T>(x1 + b);
        const Mask<T> open = ~(best <= none), h1 = open & ~(p1 < best);
        const Mask<T> h2 = open & ~h1 & ~(p2 < best), h3 = open & ~h1 & ~h2 & ~(p3 < best);
        const Mask<T> h4 = open & ~h1 & ~h2 & ~h3;
        put_lanes<T>(d0 + b, h1 ? g : none, whole, rest);
        put_lanes<T>(d0 + B + b, h2 ? g : none, whole, rest);
        put_lanes<T>(d1 + b, h3 ? g : none, whole, rest);
        put_lanes<T>(d1 + B + b, h4 ? g : none, whole, rest);
      }
      x0 += 2 * B, x1 += 2 * B, y += B, dy += B, d0 += 2 * B, d1 += 2 * B;
    }
    clear_tails(all + top * op.pitch, 2, 2 * op.out_width * B, op.pitch);
  }
  if (op.height > 2 * op.out_height)
    for (Index c = 0; c < op.channels; ++c)
      zero(all + (c + 1) * op.height * op.pitch - op.pitch, op.pitch);
}

template <class T> void average_pool_forward(const Op& op, Machine<T>& m) {
  const Index B = m.samples;
  for (Index c = 0; c < op.channels; ++c) {
    const T* x = m.value(op.in) + c * op.height * op.pitch;
    each_window(op, B, c, [&](Window w, Index at) {
      const T share = 1 / static_cast<T>(divisor(w));
      for (Index b = 0; b < B; b += kLanes<T>) {
        Vec<T> total{};
        for (Index h = w.h0; h < w.h1; ++h)
          for (Index i = w.w0; i < w.w1; ++i) total += load<T>(x + h * op.pitch + i * B + b);
        store<T>(m.value(op.out) + at + b, total * share);
      }
    });
  }
}

template <class T> void average_pool_backward(const Op& op, Machine<T>& m) {
  const Index B = m.samples;
  zero(m.value(op.din), op.channels * op.height * op.pitch);
  for (Index c = 0; c < op.channels; ++c) {
    T* dx = m.value(op.din) + c * op.height * op.pitch;
    each_window(op, B, c, [&](Window w, Index at) {
      const T share = 1 / static_cast<T>(divisor(w));
      for (Index b = 0; b < B; b += kLanes<T>) {
        Vec<T> g = load<T>(m.value(op.dout) + at + b) * share;
        g = first_lanes<T>(B - b) ? g : Vec<T>{};
        for (Index h = w.h0; h < w.h1; ++h)
          for (Index i = w.w0; i < w.w1; ++i) {
            T* d = dx + h * op.pitch + i * B + b;
            store<T>(d, load<T>(d) + g);
          }
      }
    });
  }
}

}  // namespace NETSIM_VARIANT
}  // namespace netsim
