/* Losses of an algorithm's own: a program of small tensor operations that reads what the layers gave,
   labels, parameters and values that a job is given, and writes gradients. Written down by
   `netsim/backends/native/loss_trace.py` from what PyTorch did for one example.

   Operands are strided views of a few memories; results of a program's own are in its workspace. */
#pragma once
#include "machine.h"

namespace netsim {
namespace NETSIM_VARIANT {

constexpr Index kChunk = 512;  // values of an element-wise operation at a time

template <class T> struct LossMemory {
  T* at[kNumBases];
};

template <class T> NETSIM_INLINE T* start_of(const LossView& v, const LossMemory<T>& memory) {
  return memory.at[v.base] + v.offset;
}

/* A run of n values as contiguous ones: where they are, or copied to `room`. */
template <class T> const T* run_of(const T* from, Index stride, Index n, T* room) {
  if (stride == 1) return from;
  if (stride == 0) {
    const Vec<T> all = splat<T>(*from);
    for (Index i = 0; i < n; i += kLanes<T>) store<T>(room + i, all);
  } else {
    for (Index i = 0; i < n; ++i) room[i] = from[i * stride];
  }
  return room;
}

template <class T> NETSIM_INLINE Vec<T> as_number(Mask<T> m) {
  return select<T>(m, splat<T>(1), Vec<T>{});
}

/* f of whole vectors; the last one is stored value by value. */
template <class T, class F>
NETSIM_INLINE void each(T* out, const T* a, const T* b, const T* c, Index n, F f) {
  Index i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>)
    store<T>(out + i, f(load<T>(a + i), load<T>(b + i), load<T>(c + i)));
  if (i == n) return;
  T x[3][kLanes<T>] = {}, r[kLanes<T>];
  for (Index k = 0; i + k < n; ++k) x[0][k] = a[i + k], x[1][k] = b[i + k], x[2][k] = c[i + k];
  store<T>(r, f(load<T>(x[0]), load<T>(x[1]), load<T>(x[2])));
  for (Index k = 0; i + k < n; ++k) out[i + k] = r[k];
}
template <class T, class F> NETSIM_INLINE void each_scalar(T* out, const T* a, Index n, F f) {
  for (Index i = 0; i < n; ++i) out[i] = f(a[i]);
}

/* One element-wise function of up to three runs of contiguous values. */
template <class T>
void apply(int64_t function, T* out, const T* a, const T* b, const T* c, Index n, T real) {
  using V = Vec<T>;
  switch (function) {
    case kCopy: return copy(out, a, n);
    case kPlus: return each<T>(out, a, b, b, n, [](V x, V y, V) { return x + y; });
    case kMinus: return each<T>(out, a, b, b, n, [](V x, V y, V) { return x - y; });
    case kTimes: return each<T>(out, a, b, b, n, [](V x, V y, V) { return x * y; });
    case kOver: return each<T>(out, a, b, b, n, [](V x, V y, V) { return x / y; });
    case kPlusTimes:
      return each<T>(out, a, b, b, n, [real](V x, V y, V) { return x + y * real; });
    case kScaled: return each<T>(out, a, a, a, n, [real](V x, V, V) { return x * real; });
    case kLess: return each<T>(out, a, b, b, n, [](V x, V y, V) { return as_number<T>(x < y); });
    case kLessEqual:
      return each<T>(out, a, b, b, n, [](V x, V y, V) { return as_number<T>(x <= y); });
    case kEqual: return each<T>(out, a, b, b, n, [](V x, V y, V) { return as_number<T>(x == y); });
    case kUnequal:
      return each<T>(out, a, b, b, n, [](V x, V y, V) { return as_number<T>(x != y); });
    case kWhere:
      return each<T>(out, a, b, c, n, [](V x, V y, V z) { return select<T>(x != 0, y, z); });
    case kMaximum:  // NaN of either stays
      return each<T>(out, a, b, b, n, [](V x, V y, V) {
        const V most = select<T>(x > y, x, y);
        return select<T>(x != x, x, most);
      });
    case kMinimum:
      return each<T>(out, a, b, b, n, [](V x, V y, V) {
        const V least = select<T>(x < y, x, y);
        return select<T>(x != x, x, least);
      });
    case kExp:
      return each<T>(out, a, a, a, n, [](V x, V, V) { return exp<T>(x); });
    case kAbs: return each<T>(out, a, a, a, n, [](V x, V, V) { return select<T>(x < 0, -x, x); });
    case kSign:
      return each<T>(out, a, a, a, n, [](V x, V, V) {
        return as_number<T>(x > 0) - as_number<T>(x < 0);
      });
    case kLog: return each_scalar(out, a, n, [](T x) { return static_cast<T>(std::log(x)); });
    case kSqrt: return each_scalar(out, a, n, [](T x) { return static_cast<T>(std::sqrt(x)); });
    case kTanhOf: return each_scalar(out, a, n, [](T x) { return static_cast<T>(std::tanh(x)); });
    case kPower:
      return each_scalar(out, a, n, [real](T x) { return static_cast<T>(std::pow(x, real)); });
    default: return;
  }
}

template <class T> void loss_map(const LossOp& op, const LossMemory<T>& memory) {
  alignas(64) T rooms[4][kChunk];
  const LossView *o = &op.out, *v = op.in;
  const Index run = op.dims[3];
  T* out = start_of(*o, memory);
  const T* in[3];
  for (int k = 0; k < 3; ++k) in[k] = start_of(v[k], memory);
  for (Index i = 0; i < op.dims[0]; ++i)
    for (Index j = 0; j < op.dims[1]; ++j)
      for (Index k = 0; k < op.dims[2]; ++k) {
        T* to = out + i * o->strides[0] + j * o->strides[1] + k * o->strides[2];
        const T* from[3];
        for (int q = 0; q < 3; ++q)
          from[q] = in[q] + i * v[q].strides[0] + j * v[q].strides[1] + k * v[q].strides[2];
        for (Index first = 0; first < run; first += kChunk) {
          const Index n = run - first < kChunk ? run - first : kChunk;
          const T* x[3];
          for (int q = 0; q < 3; ++q)
            x[q] = q < op.num_in
                ? run_of(from[q] + first * v[q].strides[3], v[q].strides[3], n, rooms[q]) : x[0];
          const bool direct = o->strides[3] == 1;
          T* result = direct ? to + first : rooms[3];
          apply<T>(op.function, result, x[0], x[1], x[2], n, static_cast<T>(op.real));
          if (!direct)
            for (Index q = 0; q < n; ++q) to[(first + q) * o->strides[3]] = result[q];
        }
      }
}

/* Operations of values one behind the other, `scratch` of them in turn on each chunk, which stays in
   the first cache. A view with a stride in the dimension that is not there holds one chunk alone. */
template <class T> void loss_chain(const LossOp* ops, const LossMemory<T>& memory) {
  alignas(64) T rooms[3][kChunk];
  const Index run = ops->dims[3], count = ops->scratch;
  for (Index first = 0; first < run; first += kChunk) {
    const Index n = run - first < kChunk ? run - first : kChunk;
    auto place = [&](const LossView& v) {
      return start_of(v, memory) + (v.strides[2] ? 0 : first * v.strides[3]);
    };
    for (Index k = 0; k < count; ++k) {
      const LossOp& op = ops[k];
      const T* x[3];
      for (int q = 0; q < 3; ++q)
        x[q] = q < op.num_in ? run_of(place(op.in[q]), op.in[q].strides[3], n, rooms[q]) : x[0];
      apply<T>(op.function, place(op.out), x[0], x[1], x[2], n, static_cast<T>(op.real));
    }
  }
}
/* How many operations are done at once. */
NETSIM_INLINE Index length_of(const LossOp& op) {
  return op.kind == kLossMap && op.scratch > 1 ? op.scratch : 1;
}

/* Sum of the products of two runs. */
template <class T> T products_of(const T* a, const T* b, Index n) {
  Vec<T> some{};
  Index q = 0;
  for (; q + kLanes<T> <= n; q += kLanes<T>) some += load<T>(a + q) * load<T>(b + q);
  T total = sum<T>(some);
  for (; q < n; ++q) total += a[q] * b[q];
  return total;
}

/* Sums, sums of products, or maxima over dims[2] and dims[3], for each of dims[0] and dims[1]. */
template <class T> T largest_of(const T* from, Index n) {
  T top = from[0];
  for (Index i = 1; i < n && top == top; ++i)
    if (!(from[i] <= top)) top = from[i];  // NaN stays
  return top;
}
template <class T> void loss_reduce(const LossOp& op, const LossMemory<T>& memory) {
  alignas(64) T room[kChunk], other[kChunk];
  alignas(64) T totals[kChunk];
  const LossView &o = op.out, &v = op.in[0], &w = op.in[1];
  T* out = start_of(o, memory);
  const T *in = start_of(v, memory), *factors = start_of(w, memory);
  const bool multiplies = op.function == kTimes, sums = op.function == kPlus || multiplies;
  const bool across = !multiplies && v.strides[1] == 1 && v.strides[3] != 1 && op.dims[1] > 1 && sums;
  for (Index i = 0; i < op.dims[0]; ++i) {
    if (across) {  // columns side by side
      for (Index first = 0; first < op.dims[1]; first += kChunk) {
        const Index n = op.dims[1] - first < kChunk ? op.dims[1] - first : kChunk;
        zero(totals, n);
        for (Index r = 0; r < op.dims[2]; ++r)
          for (Index q = 0; q < op.dims[3]; ++q) {
            const T* row = in + i * v.strides[0] + first + r * v.strides[2] + q * v.strides[3];
            each<T>(totals, totals, row, row, n, [](Vec<T> x, Vec<T> y, Vec<T>) { return x + y; });
          }
        for (Index j = 0; j < n; ++j)
          out[i * o.strides[0] + (first + j) * o.strides[1]] = totals[j];
      }
      continue;
    }
    for (Index j = 0; j < op.dims[1]; ++j) {
      const T* from = in + i * v.strides[0] + j * v.strides[1];
      double total = 0;
      T top = -static_cast<T>(HUGE_VAL);
      for (Index r = 0; r < op.dims[2]; ++r)
        for (Index first = 0; first < op.dims[3]; first += kChunk) {
          const Index n = op.dims[3] - first < kChunk ? op.dims[3] - first : kChunk;
          const T* x = run_of(from + r * v.strides[2] + first * v.strides[3], v.strides[3], n, room);
          if (multiplies) {
            const T* from = factors + i * w.strides[0] + j * w.strides[1] + r * w.strides[2];
            const T* y = run_of(from + first * w.strides[3], w.strides[3], n, other);
            total += static_cast<double>(products_of(x, y, n));
            continue;
          }
          if (!sums) {
            const T here = largest_of(x, n);
            if (!(here <= top) && top == top) top = here;
            continue;
          }
          Vec<T> some{};
          Index q = 0;
          for (; q + kLanes<T> <= n; q += kLanes<T>) some += load<T>(x + q);
          T rest = sum<T>(some);
          for (; q < n; ++q) rest += x[q];
          total += static_cast<double>(rest);
        }
      out[i * o.strides[0] + j * o.strides[1]] = sums ? static_cast<T>(total) : top;
    }
  }
}

/* Products of matrices: dims are batch, rows, columns, inner; 4 rows by 3 vectors at a time, of
   panels copied so that both are read in order. */
template <class T> void loss_multiply(const LossOp& op, const LossMemory<T>& memory) {
  constexpr Index R = 4, V = 3, W = V * kLanes<T>;
  const Index batch = op.dims[0], m = op.dims[1], n = op.dims[2], k = op.dims[3];
  T* left = memory.at[kLossWork] + op.scratch;  // R x k, then k x W
  T* right = left + R * k;
  for (Index q = 0; q < batch; ++q) {
    const T* a = start_of(op.in[0], memory) + q * op.in[0].strides[0];
    const T* b = start_of(op.in[1], memory) + q * op.in[1].strides[0];
    T* out = start_of(op.out, memory) + q * op.out.strides[0];
    const Index am = op.in[0].strides[1], ak = op.in[0].strides[2];
    const Index bk = op.in[1].strides[1], bn = op.in[1].strides[2];
    for (Index column = 0; column < n; column += W) {
      const Index width = n - column < W ? n - column : W;
      for (Index p = 0; p < k; ++p) {
        T* to = right + p * W;
        const T* from = b + p * bk + column * bn;
        if (bn == 1) copy(to, from, width);
        else for (Index c = 0; c < width; ++c) to[c] = from[c * bn];
        zero(to + width, W - width);
      }
      for (Index row = 0; row < m; row += R) {
        const Index height = m - row < R ? m - row : R;
        for (Index p = 0; p < k; ++p)
          for (Index r = 0; r < R; ++r) left[p * R + r] = r < height ? a[(row + r) * am + p * ak] : 0;
        Vec<T> total[R][V] = {};
        for (Index p = 0; p < k; ++p) {
          Vec<T> y[V];
          for (Index v = 0; v < V; ++v) y[v] = load<T>(right + p * W + v * kLanes<T>);
          for (Index r = 0; r < R; ++r)
            for (Index v = 0; v < V; ++v) total[r][v] += y[v] * left[p * R + r];
        }
        T found[W];
        for (Index r = 0; r < height; ++r) {
          for (Index v = 0; v < V; ++v) store<T>(found + v * kLanes<T>, total[r][v]);
          copy(out + (row + r) * n + column, found, width);
        }
      }
    }
  }
}

/* Rows of a matrix by number, dims are rows, columns, rows there are; false: no such row. */
template <class T> bool loss_rows(const LossOp& op, const LossMemory<T>& memory) {
  const bool adds = op.function == kPlus;
  T* out = start_of(op.out, memory);
  const T *a = start_of(op.in[0], memory), *which = start_of(op.in[1], memory);
  if (adds) zero(out, op.dims[2] * op.dims[1]);
  for (Index i = 0; i < op.dims[0]; ++i) {
    const Index row = static_cast<Index>(which[i * op.in[1].strides[0]]);
    if (row < 0 || row >= op.dims[2]) return false;
    for (Index j = 0; j < op.dims[1]; ++j) {
      if (adds) out[row * op.dims[1] + j] += a[i * op.in[0].strides[0] + j * op.in[0].strides[1]];
      else out[i * op.dims[1] + j] = a[row * op.in[0].strides[0] + j * op.in[0].strides[1]];
    }
  }
  return true;
}

/* Runs one operation that is none of the model's layers, or a chain of them. */
template <class T>
void run_loss(const LossOp& op, const LossMemory<T>& memory, Machine<T>& m) {
  switch (op.kind) {
    case kLossMap: return op.scratch > 1 ? loss_chain(&op, memory) : loss_map(op, memory);
    case kLossReduce: return loss_reduce(op, memory);
    case kLossMultiply: return loss_multiply(op, memory);
    case kLossRows:
      if (!loss_rows(op, memory)) m.status = kBadLabel;
      return;
    case kLossLabels: {  // of the first dims[0] samples
      T* out = start_of(op.out, memory);
      for (Index i = 0; i < op.dims[0]; ++i) out[i] = static_cast<T>(m.call->labels[m.index[i]]);
      return;
    }
    case kLossTargets: {
      T* out = start_of(op.out, memory);
      const T* targets = static_cast<const T*>(m.call->targets);
      for (Index i = 0; i < op.dims[0]; ++i)
        copy(out + i * op.dims[1], targets + m.index[i] * op.dims[1], op.dims[1]);
      return;
    }
    case kLossCheck: {  // labels are classes, or what does not count
      const T* y = start_of(op.in[0], memory);
      for (Index i = 0; i < op.dims[0]; ++i) {
        const T label = y[i * op.in[0].strides[0]];
        if (!(label >= 0 && label < static_cast<T>(op.dims[1])) && label != static_cast<T>(op.real))
          m.status = kBadLabel;
      }
      return;
    }
  }
}

}  // namespace NETSIM_VARIANT
}  // namespace netsim
