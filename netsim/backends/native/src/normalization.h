/* Batch, group and layer normalisation. */
#pragma once
#include "machine.h"

namespace netsim {
namespace NETSIM_VARIANT {

/* Mean over a channel of f(vector) of each row; what lies behind rows is left out. */
template <class T, class F>
NETSIM_INLINE T channel_sum(Index rows, Index used, Index pitch, F f) {
  Vec<T> total{};
  for (Index r = 0; r < rows; ++r) {
    Index i = 0;
    for (; i + kLanes<T> <= used; i += kLanes<T>) total += f(r * pitch + i);
    if (i < used) total += first_lanes<T>(used - i) ? f(r * pitch + i) : Vec<T>{};
  }
  return sum<T>(total);
}

/* A running statistic moves towards what a minibatch gave. */
template <class T> NETSIM_INLINE void track(T* running, T found, T momentum) {
  *running = *running * (1 - momentum) + found * momentum;
}

template <class T> void batch_norm_map_forward(const Op& op, Machine<T>& m) {
  const Index used = op.width * m.samples, plane = op.height * op.pitch;
  const T n = static_cast<T>(op.height * used);
  T *means = m.value(op.aux), *scales = means + op.channels;
  for (Index c = 0; c < op.channels; ++c) {
    const T* x = m.value(op.in) + c * plane;
    T* y = m.value(op.out) + c * plane;
    T mean, variance;
    if (op.flags & kTraining) {
      mean = channel_sum<T>(op.height, used, op.pitch, [&](Index i) { return load<T>(x + i); }) / n;
      variance = channel_sum<T>(op.height, used, op.pitch, [&](Index i) {
        const Vec<T> d = load<T>(x + i) - mean;
        return d * d;
      }) / n;
      if (m.updates_buffers && op.running_mean >= 0) {
        track(m.weights + op.running_mean + c, mean, static_cast<T>(op.real2));
        track(m.weights + op.running_var + c, variance * (n / (n - 1)), static_cast<T>(op.real2));
      }
    } else {
      mean = m.weights[op.running_mean + c];
      variance = m.weights[op.running_var + c];
    }
    means[c] = mean;
    const T scale = scales[c] = 1 / static_cast<T>(std::sqrt(variance + static_cast<T>(op.real1)));
    const T weight = op.weight < 0 ? 1 : m.weights[op.weight + c];
    const T bias = op.bias < 0 ? 0 : m.weights[op.bias + c];
    for (Index i = 0; i < plane; i += kLanes<T>)
      store<T>(y + i, (load<T>(x + i) - mean) * scale * weight + bias);
  }
}

template <class T> void batch_norm_map_backward(const Op& op, Machine<T>& m) {
  const Index used = op.width * m.samples, plane = op.height * op.pitch;
  const T n = static_cast<T>(op.height * used);
  const T *means = m.value(op.aux), *scales = means + op.channels;
  for (Index c = 0; c < op.channels; ++c) {
    const T *x = m.value(op.in) + c * plane, *dy = m.value(op.dout) + c * plane;
    const T mean = means[c], scale = scales[c];
    const T weight = op.weight < 0 ? 1 : m.weights[op.weight + c];
    // Gradients are zero behind rows, so no lane needs to be left out.
    Vec<T> total{}, along{};
    for (Index i = 0; i < plane; i += kLanes<T>) {
      const Vec<T> g = load<T>(dy + i);
      total += g;
      along += g * ((load<T>(x + i) - mean) * scale);
    }
    const T sum_g = sum<T>(total), sum_gx = sum<T>(along);
    if (op.din >= 0) {
      T* dx = m.value(op.din) + c * plane;
      const bool own = op.flags & kTraining;
      const T a = own ? sum_g / n : 0, b = own ? sum_gx / n : 0;
      for (Index i = 0; i < plane; i += kLanes<T>)
        store<T>(dx + i, (load<T>(dy + i) - a - (load<T>(x + i) - mean) * scale * b) *
                             (scale * weight));
      clear_tails(dx, op.height, used, op.pitch);
    }
    if (op.weight >= 0) m.sink(op.weight).put_one(c, sum_gx);
    if (op.bias >= 0) m.sink(op.bias).put_one(c, sum_g);
  }
}

/* Of dense values: a vector holds neighbouring channels. Packed parameters are whole vectors,
   and zero behind their end. */
template <class T> void batch_norm_dense_forward(const Op& op, Machine<T>& m) {
  const Index B = m.samples, P = op.pitch;
  const T n = static_cast<T>(B), momentum = static_cast<T>(op.real2);
  T *means = m.value(op.aux), *scales = means + P;
  for (Index k = 0; k < op.channels; k += kLanes<T>) {
    const T* x = m.value(op.in) + k;
    Vec<T> mean{}, variance{};
    if (op.flags & kTraining) {
      for (Index b = 0; b < B; ++b) mean += load<T>(x + b * P);
      mean = mean / n;
      for (Index b = 0; b < B; ++b) {
        const Vec<T> d = load<T>(x + b * P) - mean;
        variance += d * d;
      }
      variance = variance / n;
      if (m.updates_buffers && op.running_mean >= 0) {
        T *a = m.weights + op.running_mean + k, *v = m.weights + op.running_var + k;
        store<T>(a, load<T>(a) * (1 - momentum) + mean * momentum);
        store<T>(v, load<T>(v) * (1 - momentum) + variance * (n / (n - 1)) * momentum);
      }
    } else {
      mean = load<T>(m.weights + op.running_mean + k);
      variance = load<T>(m.weights + op.running_var + k);
    }
    Vec<T> scale = variance + static_cast<T>(op.real1);
    for (int i = 0; i < kLanes<T>; ++i) scale[i] = static_cast<T>(std::sqrt(scale[i]));
    scale = 1 / scale;
    store<T>(means + k, mean);
    store<T>(scales + k, scale);
    const Vec<T> weight = op.weight < 0 ? splat<T>(1) : load<T>(m.weights + op.weight + k);
    const Vec<T> bias = op.bias < 0 ? Vec<T>{} : load<T>(m.weights + op.bias + k);
    for (Index b = 0; b < B; ++b)
      store<T>(m.value(op.out) + b * P + k, (load<T>(x + b * P) - mean) * scale * weight + bias);
  }
}

template <class T> void batch_norm_dense_backward(const Op& op, Machine<T>& m) {
  const Index B = m.samples, P = op.pitch;
  const T n = static_cast<T>(B);
  for (Index k = 0; k < op.channels; k += kLanes<T>) {
    const T *x = m.value(op.in) + k, *dy = m.value(op.dout) + k;
    const Vec<T> mean = load<T>(m.value(op.aux) + k), scale = load<T>(m.value(op.aux) + P + k);
    const Vec<T> weight = op.weight < 0 ? splat<T>(1) : load<T>(m.weights + op.weight + k);
    Vec<T> total{}, along{};
    for (Index b = 0; b < B; ++b) {
      const Vec<T> g = load<T>(dy + b * P);
      total += g;
      along += g * ((load<T>(x + b * P) - mean) * scale);
    }
    if (op.din >= 0) {
      const bool own = op.flags & kTraining;
      const Vec<T> a = own ? total / n : Vec<T>{}, c = own ? along / n : Vec<T>{};
      for (Index b = 0; b < B; ++b)
        store<T>(m.value(op.din) + b * P + k,
                 (load<T>(dy + b * P) - a - (load<T>(x + b * P) - mean) * scale * c) *
                     (scale * weight));
    }
    if (op.weight >= 0) m.sink(op.weight).put(k, along);
    if (op.bias >= 0) m.sink(op.bias).put(k, total);
  }
}

/* Group normalisation of maps: statistics of each sample, which are the lanes. A layer's is that of
   one group whose scale and shift are given value by value. */
template <class T> struct GroupPart {
  const Op& op;
  Machine<T>& m;
  Index B, per, b;

  /* Calls f(offset into the map, offset into the parameters) for all values of a group. */
  template <class F> NETSIM_INLINE void each(Index group, F f) const {
    for (Index c = group * per; c < (group + 1) * per; ++c)
      for (Index h = 0; h < op.height; ++h)
        for (Index w = 0; w < op.width; ++w)
          f((c * op.height + h) * op.pitch + w * B + b,
            op.flags & kAffineByValue ? (c * op.height + h) * op.width + w : c);
  }
};

template <class T> void group_norm_map_forward(const Op& op, Machine<T>& m) {
  const Index B = m.samples, per = op.channels / op.groups, room = rounded<T>(B);
  const T n = static_cast<T>(per * op.height * op.width);
  const T* x = m.value(op.in);
  for (Index g = 0; g < op.groups; ++g)
    for (Index b = 0; b < B; b += kLanes<T>) {
      const GroupPart<T> part{op, m, B, per, b};
      const Mask<T> real = first_lanes<T>(B - b);
      Vec<T> mean{}, variance{};
      part.each(g, [&](Index i, Index) { mean += load<T>(x + i); });
      mean = mean / n;
      part.each(g, [&](Index i, Index) {
        const Vec<T> d = load<T>(x + i) - mean;
        variance += d * d;
      });
      Vec<T> scale = variance / n + static_cast<T>(op.real1);
      for (int i = 0; i < kLanes<T>; ++i) scale[i] = static_cast<T>(std::sqrt(scale[i]));
      scale = 1 / scale;
      store<T>(m.value(op.aux) + g * room + b, mean);
      store<T>(m.value(op.aux) + (op.groups + g) * room + b, scale);
      part.each(g, [&](Index i, Index p) {
        Vec<T> y = (load<T>(x + i) - mean) * scale;
        if (op.weight >= 0) y *= m.weights[op.weight + p];
        if (op.bias >= 0) y += m.weights[op.bias + p];
        T* to = m.value(op.out) + i;  // behind the last sample lies the next column
        store<T>(to, real ? y : load<T>(to));
      });
    }
}

template <class T> void group_norm_map_backward(const Op& op, Machine<T>& m) {
  const Index B = m.samples, per = op.channels / op.groups, room = rounded<T>(B);
  const T n = static_cast<T>(per * op.height * op.width);
  const T *x = m.value(op.in), *dy = m.value(op.dout);
  T *dweight = m.value(op.aux) + 2 * op.groups * room, *dbias = dweight + op.count;
  zero(dweight, 2 * op.count);
  for (Index g = 0; g < op.groups; ++g)
    for (Index b = 0; b < B; b += kLanes<T>) {
      const GroupPart<T> part{op, m, B, per, b};
      const Mask<T> real = first_lanes<T>(B - b);
      const Vec<T> mean = load<T>(m.value(op.aux) + g * room + b);
      const Vec<T> scale = load<T>(m.value(op.aux) + (op.groups + g) * room + b);
      Vec<T> total{}, along{};
      part.each(g, [&](Index i, Index p) {
        const Vec<T> d = real ? load<T>(dy + i) : Vec<T>{};
        const Vec<T> v = real ? (load<T>(x + i) - mean) * scale : Vec<T>{};
        const T weight = op.weight < 0 ? 1 : m.weights[op.weight + p];
        total += d * weight;
        along += d * v * weight;
        if (op.weight >= 0) dweight[p] += sum<T>(d * v);
        if (op.bias >= 0) dbias[p] += sum<T>(d);
      });
      if (op.din < 0) continue;
      const Vec<T> a = total / n, c = along / n;
      part.each(g, [&](Index i, Index p) {
        const T weight = op.weight < 0 ? 1 : m.weights[op.weight + p];
        const Vec<T> v = (load<T>(x + i) - mean) * scale;
        T* to = m.value(op.din) + i;
        store<T>(to, real ? (load<T>(dy + i) * weight - a - v * c) * scale : load<T>(to));
      });
    }
  if (op.din >= 0)
    clear_tails(m.value(op.din), op.channels * op.height, op.width * B, op.pitch);
  if (op.weight >= 0) m.sink(op.weight).put_all(dweight, op.count);
  if (op.bias >= 0) m.sink(op.bias).put_all(dbias, op.count);
}

/* Of dense values, whose groups need not be whole vectors: one by one. */
template <class T> void group_norm_dense_forward(const Op& op, Machine<T>& m) {
  const Index per = op.channels / op.groups;
  for (Index b = 0; b < m.samples; ++b)
    for (Index g = 0; g < op.groups; ++g) {
      const T* x = m.value(op.in) + b * op.pitch + g * per;
      T* y = m.value(op.out) + b * op.pitch + g * per;
      T mean = 0, variance = 0;
      for (Index i = 0; i < per; ++i) mean += x[i];
      mean /= static_cast<T>(per);
      for (Index i = 0; i < per; ++i) variance += (x[i] - mean) * (x[i] - mean);
      const T scale = 1 / static_cast<T>(
          std::sqrt(variance / static_cast<T>(per) + static_cast<T>(op.real1)));
      m.value(op.aux)[(b * op.groups + g) * 2] = mean;
      m.value(op.aux)[(b * op.groups + g) * 2 + 1] = scale;
      for (Index i = 0; i < per; ++i) {
        y[i] = (x[i] - mean) * scale;
        if (op.weight >= 0) y[i] *= m.weights[op.weight + g * per + i];
        if (op.bias >= 0) y[i] += m.weights[op.bias + g * per + i];
      }
    }
}

template <class T> void group_norm_dense_backward(const Op& op, Machine<T>& m) {
  const Index per = op.channels / op.groups, B = m.samples;
  T *dweight = m.value(op.aux) + 2 * op.groups * B, *dbias = dweight + op.count;
  zero(dweight, 2 * op.count);
  for (Index b = 0; b < B; ++b)
    for (Index g = 0; g < op.groups; ++g) {
      const T* x = m.value(op.in) + b * op.pitch + g * per;
      const T* dy = m.value(op.dout) + b * op.pitch + g * per;
      const T mean = m.value(op.aux)[(b * op.groups + g) * 2];
      const T scale = m.value(op.aux)[(b * op.groups + g) * 2 + 1];
      const T* weight = op.weight < 0 ? nullptr : m.weights + op.weight + g * per;
      T total = 0, along = 0;
      for (Index i = 0; i < per; ++i) {
        const T v = (x[i] - mean) * scale, d = dy[i] * (weight ? weight[i] : 1);
        total += d;
        along += d * v;
        dweight[g * per + i] += dy[i] * v;
        dbias[g * per + i] += dy[i];
      }
      if (op.din < 0) continue;
      const T a = total / static_cast<T>(per), c = along / static_cast<T>(per);
      T* dx = m.value(op.din) + b * op.pitch + g * per;
      for (Index i = 0; i < per; ++i)
        dx[i] = (dy[i] * (weight ? weight[i] : 1) - a - (x[i] - mean) * scale * c) * scale;
    }
  if (op.din >= 0) clear_tails(m.value(op.din), B, op.channels, op.pitch);
  if (op.weight >= 0) m.sink(op.weight).put_all(dweight, op.count);
  if (op.bias >= 0) m.sink(op.bias).put_all(dbias, op.count);
}

}  // namespace NETSIM_VARIANT
}  // namespace netsim
