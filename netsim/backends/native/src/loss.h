/* Losses of dense outputs and their gradients. */
#pragma once
#include "machine.h"

namespace netsim {
namespace NETSIM_VARIANT {

/* The sum over samples of the cross-entropy; with `gradient`, `share` times its gradient. */
template <class T>
double cross_entropy(const Op& op, Machine<T>& m, T share, bool gradient, bool wants_loss) {
  const Index n = op.channels;
  T* d = m.value(op.din);
  double loss = 0;
  for (Index b = 0; b < m.samples; ++b) {
    const T* z = m.value(op.in) + b * op.pitch;
    const int64_t label = m.call->labels[m.index[b]];
    if (label < 0 || label >= n) {
      m.status = kBadLabel;
      return loss;
    }
    T top = z[0];
    for (Index i = 1; i < n; ++i) top = z[i] > top ? z[i] : top;
    // A scalar loop would add up in another order than the vectors: both passes use these.
    Vec<T> total{};
    T* powers = m.value(op.aux);
    for (Index i = 0; i < n; i += kLanes<T>) {
      const Vec<T> e = exp<T>(load<T>(z + i) - top);
      const Vec<T> kept = first_lanes<T>(n - i) ? e : Vec<T>{};
      store<T>(powers + i, kept);
      total += kept;
    }
    const T all = sum<T>(total);
    if (wants_loss) loss += static_cast<double>(static_cast<T>(std::log(all)) - (z[label] - top));
    if (!gradient) continue;
    const T scale = share / all;
    for (Index i = 0; i < op.pitch; i += kLanes<T>)
      store<T>(d + b * op.pitch + i, load<T>(powers + i) * scale);
    d[b * op.pitch + label] -= share;
  }
  return loss;
}

/* The sum over samples of the mean over outputs of squared errors. */
template <class T>
double mean_squared(const Op& op, Machine<T>& m, T share, bool gradient) {
  const Index n = op.channels;
  const T* targets = static_cast<const T*>(m.call->targets);
  double loss = 0;
  for (Index b = 0; b < m.samples; ++b) {
    const T *z = m.value(op.in) + b * op.pitch, *wanted = targets + m.index[b] * n;
    T* d = gradient ? m.value(op.din) + b * op.pitch : nullptr;
    double total = 0;
    for (Index i = 0; i < n; ++i) {
      const T error = z[i] - wanted[i];
      total += static_cast<double>(error) * static_cast<double>(error);
      if (d) d[i] = share * 2 * error / static_cast<T>(n);
    }
    if (d) zero(d + n, op.pitch - n);
    loss += total / static_cast<double>(n);
  }
  return loss;
}

}  // namespace NETSIM_VARIANT
}  // namespace netsim
