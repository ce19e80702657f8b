/* What a layer works with: one node's packed model, where its gradient goes, room for values.

   A map lies as [channel][row][column x sample], each row padded to a pitch: the samples are the
   innermost index, so that a row of all samples is one contiguous run, and a convolution needs no
   copies of its input. Dense values lie as [sample][value]. What lies behind the end of a row of a
   map may hold any finite number, in a gradient it is zero; behind the end of a dense row there are
   zeros in both. */
#pragma once
#include "call.h"
#include "tiles.h"

namespace netsim {
namespace NETSIM_VARIANT {

template <class T> struct Machine {
  const Call* call;
  T* weights;      // packed: parameters, then buffers
  T* gradient;     // packed; with plain momentum the velocity
  T* values;
  Index samples;   // of this minibatch
  bool fused;      // whether weights move as soon as their gradient is known
  T decay, rate;   // see Sink
  bool keeps;
  bool updates_buffers;
  const int64_t* index;
  const T* masks;
  const T* draws;  // of the minibatch's images, where they are moved; null: they are not
  T* exported;     // rows of this minibatch; null: not wanted
  const T* given;
  Status status;

  NETSIM_INLINE Sink<T> sink(Index offset) const {
    return {gradient + offset, fused ? weights + offset : nullptr, decay, rate, keeps};
  }
  NETSIM_INLINE T* value(int64_t offset) const { return offset < 0 ? nullptr : values + offset; }
  NETSIM_INLINE const int64_t* offsets(const Op& op) const { return call->offsets + op.offsets; }
};

/* How many values an element-wise layer goes through, padding included. */
template <class T> NETSIM_INLINE Index span(const Op& op, const Machine<T>& m) {
  return op.flags & kDense ? m.samples * op.pitch : op.channels * op.height * op.pitch;
}

/* Zero what lies behind the rows of a map. */
template <class T> void clear_tails(T* map, Index rows, Index used, Index pitch) {
  for (Index r = 0; r < rows; ++r)
    memset(map + r * pitch + used, 0, sizeof(T) * (pitch - used));
}

template <class T> NETSIM_INLINE void zero(T* to, Index n) { memset(to, 0, sizeof(T) * n); }
template <class T> NETSIM_INLINE void copy(T* to, const T* from, Index n) {
  memcpy(to, from, sizeof(T) * n);
}

}  // namespace NETSIM_VARIANT
}  // namespace netsim
