/* The two loops in which nearly all the time goes: `Product` adds up scalars times vectors, `Dots`
   vectors times vectors. A tile of results stays in registers; its shape is a template argument. */
#pragma once
#include "simd.h"

namespace netsim {
namespace NETSIM_VARIANT {

/* Three nested loops over what is added up: how often, and how far both factors move each time. */
struct Loops {
  Index n1, n2, n3, a1, a2, a3, b1, b2, b3;
};
NETSIM_INLINE Loops one_loop(Index n, Index a, Index b) { return {1, 1, n, 0, 0, a, 0, 0, b}; }

/* Where a gradient goes: `to` = decay x `to` + gradient, then, with momentum and nothing else to
   the optimiser, at once `weights` -= rate x `to`. Without `keeps` nobody reads `to` again. */
template <class T> struct Sink {
  T* to;
  T* weights;
  T decay, rate;
  bool keeps;

  NETSIM_INLINE Sink at(Index offset) const {
    return {to + offset, weights ? weights + offset : nullptr, decay, rate, keeps};
  }
  NETSIM_INLINE void put(Index i, Vec<T> g) const {
    if (decay != 0) g += decay * load<T>(to + i);
    if (keeps) store<T>(to + i, g);
    if (weights) store<T>(weights + i, load<T>(weights + i) - rate * g);
  }
  void put_all(const T* g, Index n) const {
    Index i = 0;
    for (; i + kLanes<T> <= n; i += kLanes<T>) put(i, load<T>(g + i));
    for (; i < n; ++i) put_one(i, g[i]);
  }
  NETSIM_INLINE void put_one(Index i, T g) const {
    if (decay != 0) g += decay * to[i];
    if (keeps) to[i] = g;
    if (weights) weights[i] -= rate * g;
  }
};

enum class Store { kSet, kAdd, kBias, kSink };

template <class T> struct ProductTask {
  Loops loops;
  const T* a;       // scalars: a[m * a_step + ...]
  Index a_step;
  const T* b;       // vectors: b[n * lanes + ...]
  T* c;             // results: c[m * c_step + n * lanes]
  Index c_step;
  Store store;
  const T* bias;    // of each row m
  Sink<T> sink;     // in place of c, as far apart
  bool far = false; // whether results are more than the fast caches hold

  NETSIM_INLINE ProductTask at(Index m, Index n) const {
    ProductTask t = *this;
    t.a += m * a_step;
    t.b += n * kLanes<T>;
    if (store == Store::kSink) t.sink = sink.at(m * c_step + n * kLanes<T>);
    else t.c += m * c_step + n * kLanes<T>;
    if (bias) t.bias += m;
    return t;
  }
};

template <class T, int M, int N>
__attribute__((noinline)) void product_tile(const ProductTask<T>& task) {
  Vec<T> total[M][N];
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) total[m][n] = Vec<T>{};
  if (task.far) {  // where results go comes nearer while they are added up
    const T* to = task.store == Store::kSink ? task.sink.to : task.c;
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
      for (int n = 0; n < N; ++n) __builtin_prefetch(to + m * task.c_step + n * kLanes<T>, 1);
  }
  const Loops& l = task.loops;
  const Index a_step = task.a_step, a3 = l.a3, b3 = l.b3;
  for (Index i = 0; i < l.n1; ++i)
    for (Index j = 0; j < l.n2; ++j) {
      const T* a = task.a + i * l.a1 + j * l.a2;
      const T* b = task.b + i * l.b1 + j * l.b2;
      for (Index k = 0; k < l.n3; ++k, a += a3, b += b3) {
        Vec<T> x[N];
#pragma GCC unroll 8
        for (int n = 0; n < N; ++n) x[n] = load<T>(b + n * kLanes<T>);
#pragma GCC unroll 16
        for (int m = 0; m < M; ++m) {
          Vec<T> s = splat<T>(a[m * a_step]);
#pragma GCC unroll 8
          for (int n = 0; n < N; ++n) total[m][n] += s * x[n];
        }
      }
    }
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) {
      const Index at = m * task.c_step + n * kLanes<T>;
      switch (task.store) {
        case Store::kSet: store<T>(task.c + at, total[m][n]); break;
        case Store::kAdd: store<T>(task.c + at, load<T>(task.c + at) + total[m][n]); break;
        case Store::kBias: store<T>(task.c + at, total[m][n] + task.bias[m]); break;
        case Store::kSink: task.sink.put(at, total[m][n]); break;
      }
    }
}

/* Rows of a tile of so many vectors: as many as the registers hold beside the factors. */
constexpr int product_rows(int vectors) {
  return kManyRegisters ? (vectors == 5 ? 5 : vectors == 4 ? 6 : vectors == 3 ? 8 : 12)
                        : (vectors == 2 ? 6 : 8);
}
constexpr int kProductVectors = kManyRegisters ? 4 : 2;

template <class T> using ProductTile = void (*)(const ProductTask<T>&);
template <class T, int N, int... M> NETSIM_INLINE void product_of(
    const ProductTask<T>& task, Index m, Sequence<M...>) {
  static constexpr ProductTile<T> tiles[] = {product_tile<T, M + 1, N>...};
  tiles[m - 1](task);
}
template <class T> NETSIM_INLINE void product_block(const ProductTask<T>& t, Index m, Index n) {
  if constexpr (kManyRegisters) {
    if (n == 5) return product_of<T, 5>(t, m, typename Counted<product_rows(5)>::Type{});
    if (n == 4) return product_of<T, 4>(t, m, typename Counted<product_rows(4)>::Type{});
    if (n == 3) return product_of<T, 3>(t, m, typename Counted<product_rows(3)>::Type{});
  }
  if (n == 2) return product_of<T, 2>(t, m, typename Counted<product_rows(2)>::Type{});
  return product_of<T, 1>(t, m, typename Counted<product_rows(1)>::Type{});
}

/* Bytes of results from which on they are `far`. */
constexpr Index kFarBytes = 1 << 19;

/* The next of the parts, as equal as they come, into which `left` is cut. */
NETSIM_INLINE Index part(Index left, Index most) {
  const Index parts = (left + most - 1) / most;
  return (left + parts - 1) / parts;
}

/* All of `rows` x `vectors`; `by_rows` walks through results row by row, as they lie. */
template <class T>
void product(const ProductTask<T>& task, Index rows, Index vectors, bool by_rows = false) {
  if (by_rows) {
    const Index widest = vectors < kProductVectors ? vectors : kProductVectors;
    for (Index m = 0, dm; m < rows; m += dm) {
      dm = part(rows - m, product_rows(static_cast<int>(widest)));
      for (Index n = 0, dn; n < vectors; n += dn) {
        dn = part(vectors - n, widest);
        product_block<T>(task.at(m, n), dm, dn);
      }
    }
    return;
  }
  for (Index n = 0, dn; n < vectors; n += dn) {
    dn = kManyRegisters && vectors - n == 5 ? 5 : part(vectors - n, kProductVectors);
    for (Index m = 0, dm; m < rows; m += dm) {
      dm = part(rows - m, product_rows(static_cast<int>(dn)));
      product_block<T>(task.at(m, n), dm, dn);
    }
  }
}

/* d[m * d_step + n] (+)= sum over blocks s, rows r and vectors j of
   y[m * y_step + s * y_block + r * y_row + j] times x[offsets[n] + s * x_block + r * x_row + j]. */
template <class T> struct DotsTask {
  Index rows, vectors;
  const T* y;
  Index y_step, y_row;
  const T* x;
  const int64_t* offsets;
  Index x_row;
  T* d;
  Index d_step;
  const T* bias;  // of each n; null: none
  bool adds;
  Index blocks = 1, y_block = 0, x_block = 0;
};

template <class T, int M, int N>
__attribute__((noinline)) void dots_tile(const DotsTask<T>& task, Index m0, Index n0) {
  Vec<T> total[M][N];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) total[m][n] = Vec<T>{};
  Index offset[N];
  for (int n = 0; n < N; ++n) offset[n] = task.offsets[n0 + n];
  const Index y_step = task.y_step;
  for (Index s = 0; s < task.blocks; ++s)
    for (Index r = 0; r < task.rows; ++r) {
      const T* y = task.y + m0 * y_step + s * task.y_block + r * task.y_row;
      const T* x = task.x + s * task.x_block + r * task.x_row;
      for (Index j = 0; j < task.vectors; ++j, y += kLanes<T>, x += kLanes<T>) {
        Vec<T> a[M];
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m) a[m] = load<T>(y + m * y_step);
#pragma GCC unroll 8
        for (int n = 0; n < N; ++n) {
          Vec<T> b = load<T>(x + offset[n]);
#pragma GCC unroll 8
          for (int m = 0; m < M; ++m) total[m][n] += a[m] * b;
        }
      }
    }
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m)
    put_sums<T, N>(total[m], task.bias ? task.bias + n0 : nullptr, task.adds,
                   task.d + (m0 + m) * task.d_step + n0);
}

constexpr int kDotsRows = kManyRegisters ? 6 : 3;
constexpr int kDotsColumns = 4;

template <class T> using DotsTile = void (*)(const DotsTask<T>&, Index, Index);
template <class T, int N, int... M> NETSIM_INLINE void dots_of(
    const DotsTask<T>& task, Index m0, Index n0, Index m, Sequence<M...>) {
  static constexpr DotsTile<T> tiles[] = {dots_tile<T, M + 1, N>...};
  tiles[m - 1](task, m0, n0);
}

template <class T> NETSIM_INLINE void dots_block(
    const DotsTask<T>& task, Index m, Index n, Index dm, Index dn) {
  typename Counted<kDotsRows>::Type rows;
  if (dn == 4) return dots_of<T, 4>(task, m, n, dm, rows);
  if (dn == 3) return dots_of<T, 3>(task, m, n, dm, rows);
  if (dn == 2) return dots_of<T, 2>(task, m, n, dm, rows);
  return dots_of<T, 1>(task, m, n, dm, rows);
}

/* All of `ms` x `ns`; `by_rows`: the vectors of `y` are the ones that stay in the fast cache. */
template <class T> void dots(const DotsTask<T>& task, Index ms, Index ns, bool by_rows) {
  if (by_rows) {
    for (Index m = 0, dm; m < ms; m += dm) {
      dm = part(ms - m, kDotsRows);
      for (Index n = 0; n < ns; n += kDotsColumns)
        dots_block<T>(task, m, n, dm, ns - n < kDotsColumns ? ns - n : kDotsColumns);
    }
    return;
  }
  for (Index n = 0; n < ns; n += kDotsColumns)
    for (Index m = 0, dm; m < ms; m += dm) {
      dm = part(ms - m, kDotsRows);
      dots_block<T>(task, m, n, dm, ns - n < kDotsColumns ? ns - n : kDotsColumns);
    }
}

}  // namespace NETSIM_VARIANT
}  // namespace netsim
