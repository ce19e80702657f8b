/* Optimiser steps that need the whole gradient first, on packed rows: as
   `netsim.learning.optimizers`. */
#pragma once
#include "machine.h"

namespace netsim {
namespace NETSIM_VARIANT {

/* What an optimiser keeps of one node: packed rows, and how often it stepped. */
template <class T> struct Memory {
  T *first, *second, *anchor;
  double count;
};

/* Factor by which a gradient is scaled so that its norm is at most `largest`. */
template <class T> T clipping(const T* gradient, Index n, double largest) {
  double square = 0;
  for (Index i = 0; i < n; i += 512) {
    Vec<T> total{};
    const Index stop = i + 512 < n ? i + 512 : n;
    for (Index k = i; k < stop; k += kLanes<T>) {
      const Vec<T> g = load<T>(gradient + k);
      total += g * g;
    }
    square += static_cast<double>(sum<T>(total));
  }
  const T factor = static_cast<T>(largest) / (static_cast<T>(std::sqrt(square)) + static_cast<T>(1e-6));
  return factor > 1 ? 1 : factor;
}

/* Packed rows are whole vectors, and zero where they are padded. */
template <class T> void optimizer_step(Machine<T>& m, Memory<T>& memory, double rate) {
  const Call& c = *m.call;
  const Index n = c.num_packed_parameters;
  T *w = m.weights, *gradient = m.gradient;
  if (memory.anchor)
    for (Index i = 0; i < n; i += kLanes<T>)
      store<T>(gradient + i, load<T>(gradient + i) + (load<T>(w + i) - load<T>(memory.anchor + i)) *
                                                         static_cast<T>(c.anchor_strength));
  const T factor = c.clip_norm > 0 ? clipping(gradient, n, c.clip_norm) : 1;
  const T decay = static_cast<T>(c.weight_decay), momentum = static_cast<T>(c.momentum);
  if (c.optimizer == kSgd) {
    for (Index i = 0; i < n; i += kLanes<T>) {
      Vec<T> g = load<T>(gradient + i) * factor;
      const Vec<T> old = load<T>(w + i);
      if (decay != 0) g += old * decay;
      if (momentum != 0) {
        g += load<T>(memory.first + i) * momentum;
        store<T>(memory.first + i, g);
      }
      store<T>(w + i, old - g * static_cast<T>(rate));
    }
    return;
  }
  memory.count += 1;
  const double left1 = 1 - std::pow(c.beta1, memory.count), left2 = 1 - std::pow(c.beta2, memory.count);
  const T root = static_cast<T>(std::sqrt(left2)), size = static_cast<T>(rate / left1);
  const T beta2 = static_cast<T>(c.beta2), fresh1 = static_cast<T>(1 - c.beta1);
  const T fresh2 = static_cast<T>(1 - c.beta2);
  for (Index i = 0; i < n; i += kLanes<T>) {
    Vec<T> g = load<T>(gradient + i) * factor;
    const Vec<T> old = load<T>(w + i);
    if (decay != 0) g += old * decay;
    Vec<T> first = load<T>(memory.first + i), second = load<T>(memory.second + i);
    first += (g - first) * fresh1;
    second = second * beta2 + g * g * fresh2;
    store<T>(memory.first + i, first);
    store<T>(memory.second + i, second);
    Vec<T> down;
    for (int k = 0; k < kLanes<T>; ++k) down[k] = static_cast<T>(std::sqrt(second[k]));
    store<T>(w + i, old - first / (down / root + static_cast<T>(1e-8)) * size);
  }
}

}  // namespace NETSIM_VARIANT
}  // namespace netsim
