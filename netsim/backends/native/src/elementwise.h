/* Activations, sums, dropout, and values that are copied from one place to another. */
#pragma once
#include "machine.h"

namespace netsim {
namespace NETSIM_VARIANT {

template <class T> Vec<T> each_lane(Vec<T> v, T (*f)(T)) {
  for (int i = 0; i < kLanes<T>; ++i) v[i] = f(v[i]);
  return v;
}
template <class T> T scalar_tanh(T x) { return static_cast<T>(::tanh(static_cast<double>(x))); }
template <class T> T scalar_erf(T x) { return static_cast<T>(::erf(static_cast<double>(x))); }

/* y = f(x), and dx = dy * slope(x, y). Every other activation is a file of the folder `activations`:
   its first line names the module of PyTorch, with `real1` where the layer's real number goes, and
   the struct is named after the file. `activations.h`, which `build.py` writes, includes them all
   and lists them in NETSIM_ACTIVATIONS. */
template <class T> struct Relu {
  NETSIM_INLINE static Vec<T> value(Vec<T> x, T) { return x <= Vec<T>{} ? Vec<T>{} : x; }
  NETSIM_INLINE static Vec<T> back(Vec<T> dy, Vec<T>, Vec<T> y, T) {
    return y <= Vec<T>{} ? Vec<T>{} : dy;  // NaN lets the gradient through, as in torch
  }
};
#include "activations.h"

/* What dense values hold behind their end stays zero: `each_lane` of zero need not be zero. */
template <class T> NETSIM_INLINE void clear_dense(const Op& op, Machine<T>& m, T* to) {
  if (op.flags & kDense) clear_tails(to, m.samples, op.channels, op.pitch);
}

template <template <class> class F, class T> void activation_forward(const Op& op, Machine<T>& m) {
  const T* x = m.value(op.in);
  T* y = m.value(op.out);
  const T real = static_cast<T>(op.real1);
  for (Index i = 0, n = span(op, m); i < n; i += kLanes<T>)
    store<T>(y + i, F<T>::value(load<T>(x + i), real));
  clear_dense(op, m, y);
}
template <template <class> class F, class T> void activation_backward(const Op& op, Machine<T>& m) {
  const T *x = m.value(op.in), *y = m.value(op.out), *dy = m.value(op.dout);
  T* dx = m.value(op.din);
  const T real = static_cast<T>(op.real1);
  for (Index i = 0, n = span(op, m); i < n; i += kLanes<T>)
    store<T>(dx + i, F<T>::back(load<T>(dy + i), load<T>(x + i), load<T>(y + i), real));
}

/* The activation number `first` of those listed. */
template <class T> void listed_forward(const Op& op, Machine<T>& m) {
  Index left = op.first;
#define NETSIM_FORWARD(F) if (!left--) return activation_forward<F>(op, m);
  NETSIM_ACTIVATIONS(NETSIM_FORWARD)
}
template <class T> void listed_backward(const Op& op, Machine<T>& m) {
  Index left = op.first;
#define NETSIM_BACKWARD(F) if (!left--) return activation_backward<F>(op, m);
  NETSIM_ACTIVATIONS(NETSIM_BACKWARD)
}

template <class T> void add_forward(const Op& op, Machine<T>& m) {
  const T *a = m.value(op.in), *b = m.value(op.in2);
  T* y = m.value(op.out);
  for (Index i = 0, n = span(op, m); i < n; i += kLanes<T>)
    store<T>(y + i, load<T>(a + i) + load<T>(b + i));
}
template <class T> void add_backward(const Op& op, Machine<T>& m) {
  const T* dy = m.value(op.dout);
  const Index n = span(op, m);
  if (op.din >= 0) copy(m.value(op.din), dy, n);
  if (op.din2 >= 0) copy(m.value(op.din2), dy, n);
}

/* A value that several layers read: its gradient is the sum of what they found. */
template <class T> void split_backward(const Op& op, Machine<T>& m) {
  T* d = m.value(op.din);
  const T *a = m.value(op.dout), *b = op.din2 < 0 ? nullptr : m.value(op.din2);
  for (Index i = 0, n = span(op, m); i < n; i += kLanes<T>) {
    Vec<T> v = load<T>(a + i);
    if (b) v += load<T>(b + i);
    store<T>(d + i, v);
  }
}

/* Masks lie as torch draws them: [sample][channel][row][column]. */
template <class T, bool Backward> void dropout(const Op& op, Machine<T>& m) {
  const Index B = m.samples, size = op.channels * op.height * op.width;
  const T* mask = m.masks + op.first * B;
  const T* from = m.value(Backward ? op.dout : op.in);
  T* to = m.value(Backward ? op.din : op.out);
  if (op.flags & kDense) {
    for (Index b = 0; b < B; ++b)
      for (Index k = 0; k < op.channels; ++k)
        to[b * op.pitch + k] = from[b * op.pitch + k] * mask[b * size + k];
    clear_dense(op, m, to);
    return;
  }
  const Index rows = op.channels * op.height;
  for (Index r = 0; r < rows; ++r)
    for (Index i = 0; i < op.width; ++i)
      for (Index b = 0; b < B; ++b) {
        const Index at = r * op.pitch + i * B + b;
        to[at] = from[at] * mask[b * size + r * op.width + i];
      }
  clear_tails(to, rows, op.width * B, op.pitch);
}

/* `count` channels: input channel `first` + i becomes output channel in2 + i * step. */
template <class T> void copy_channels_forward(const Op& op, Machine<T>& m) {
  if (op.flags & kDense) {
    for (Index b = 0; b < m.samples; ++b)
      for (Index i = 0; i < op.count; ++i)
        m.value(op.out)[b * op.out_pitch + op.in2 + i * op.step] =
            m.value(op.in)[b * op.pitch + op.first + i];
    return;
  }
  const Index plane = op.height * op.pitch;
  for (Index i = 0; i < op.count; ++i)
    copy(m.value(op.out) + (op.in2 + i * op.step) * plane,
         m.value(op.in) + (op.first + i) * plane, plane);
}
template <class T> void copy_channels_backward(const Op& op, Machine<T>& m) {
  const bool dense = op.flags & kDense;
  const Index plane = op.height * op.pitch;
  if (op.count < op.channels) zero(m.value(op.din), span(op, m));
  if (dense) {
    for (Index b = 0; b < m.samples; ++b) {
      T* to = m.value(op.din) + b * op.pitch;
      for (Index i = 0; i < op.count; ++i)
        to[op.first + i] = m.value(op.dout)[b * op.out_pitch + op.in2 + i * op.step];
      zero(to + op.channels, op.pitch - op.channels);
    }
    return;
  }
  for (Index i = 0; i < op.count; ++i)
    copy(m.value(op.din) + (op.first + i) * plane,
         m.value(op.dout) + (op.in2 + i * op.step) * plane, plane);
}

/* Dense values that leave the kernel, and the gradients that come back for them. */
template <class T> void export_forward(const Op& op, Machine<T>& m) {
  if (!m.exported) return;
  for (Index b = 0; b < m.samples; ++b)
    copy(m.exported + b * m.call->export_width + op.first, m.value(op.in) + b * op.pitch,
         op.channels);
}
template <class T> void export_backward(const Op& op, Machine<T>& m) {
  T* d = m.value(op.din);
  if (!d) return;
  if (m.call->loss == kGivenGradient) {
    for (Index b = 0; b < m.samples; ++b) {
      copy(d + b * op.pitch, m.given + b * m.call->export_width + op.first, op.channels);
      zero(d + b * op.pitch + op.channels, op.pitch - op.channels);
    }
  } else if (!(op.flags & kFinal)) {
    zero(d, m.samples * op.pitch);
  }
}

}  // namespace NETSIM_VARIANT
}  // namespace netsim
