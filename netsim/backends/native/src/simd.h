/* Vectors of the compiler's own extension, and what the kernel does with them. Everything lies in a
   namespace named after the instruction set: functions of one name, compiled for several sets and
   merged by the linker, would crash on the older processor. For the same reason nothing here uses
   templates of the standard library. */
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define NETSIM_INLINE inline __attribute__((always_inline))

namespace netsim {
namespace NETSIM_VARIANT {

using Index = std::ptrdiff_t;
constexpr int kVectorBytes = NETSIM_VECTOR_BYTES;
constexpr bool kManyRegisters = NETSIM_REGISTERS >= 32;

template <class T> struct Simd;
template <> struct Simd<float> {
  typedef float Vec __attribute__((vector_size(kVectorBytes)));
  typedef int32_t Mask __attribute__((vector_size(kVectorBytes)));
  using Integer = int32_t;
  typedef float Half __attribute__((vector_size(kVectorBytes / 2)));
  typedef float Four __attribute__((vector_size(16)));
};
template <> struct Simd<double> {
  typedef double Vec __attribute__((vector_size(kVectorBytes)));
  typedef int64_t Mask __attribute__((vector_size(kVectorBytes)));
  using Integer = int64_t;
  using Half = Vec;
  typedef double Four __attribute__((vector_size(32)));
};
template <class T> using Vec = typename Simd<T>::Vec;
template <class T> using Mask = typename Simd<T>::Mask;
template <class T> constexpr Index kLanes = kVectorBytes / sizeof(T);

template <class T> NETSIM_INLINE Index rounded(Index n) {
  return (n + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

template <class T> NETSIM_INLINE Vec<T> load(const T* p) {
  Vec<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T> NETSIM_INLINE void store(T* p, Vec<T> v) { __builtin_memcpy(p, &v, sizeof v); }
template <class T> NETSIM_INLINE Vec<T> splat(T a) { return a - Vec<T>{}; }

/* All ones in the first n lanes. */
template <class T> NETSIM_INLINE Mask<T> first_lanes(Index n) {
  using I = typename Simd<T>::Integer;
  Mask<T> lane;
  for (int i = 0; i < kLanes<T>; ++i) lane[i] = static_cast<I>(i);
  return lane < static_cast<I>(n < kLanes<T> ? n : kLanes<T>);
}

template <class To, class From> NETSIM_INLINE To bits(From v) {
  static_assert(sizeof(To) == sizeof(From), "bits are kept");
  To r;
  __builtin_memcpy(&r, &v, sizeof r);
  return r;
}

template <class T> NETSIM_INLINE Vec<T> select(Mask<T> m, Vec<T> a, Vec<T> b) { return m ? a : b; }

/* Numbers as a parameter pack, without <utility>. */
template <int... I> struct Sequence {};
template <int N, int... I> struct Counted : Counted<N - 1, N - 1, I...> {};
template <int... I> struct Counted<0, I...> { using Type = Sequence<I...>; };

/* Two vectors of groups of `Block` lanes to one with groups of half as many lanes, which hold the
   sums of the halves: those of `a`, then those of `b`. */
template <class T, int Block, int... I>
NETSIM_INLINE Vec<T> halved(Vec<T> a, Vec<T> b, Sequence<I...>) {
  constexpr int half = Block / 2, side = kLanes<T> / 2, all = kLanes<T>;
  return __builtin_shufflevector(
             a, b, ((I / side) * all + ((I % side) / half) * Block + (I % side) % half)...) +
         __builtin_shufflevector(
             a, b, ((I / side) * all + ((I % side) / half) * Block + (I % side) % half + half)...);
}
template <class T, int Distance, int... I> NETSIM_INLINE Vec<T> folded(Vec<T> v, Sequence<I...>) {
  return v + __builtin_shufflevector(v, v, (I ^ Distance)...);
}
template <class T, int Block> NETSIM_INLINE Vec<T> fold(Vec<T> v) {
  if constexpr (Block < 2) return v;
  else return fold<T, Block / 2>(folded<T, Block / 2>(v, typename Counted<kLanes<T>>::Type{}));
}

template <class T> NETSIM_INLINE T sum(Vec<T> v) { return fold<T, kLanes<T>>(v)[0]; }

/* Sum of whole vectors in double precision, where finite numbers never add up to infinity. */
template <class T> double double_sum(const T* p, Index n) {
  Vec<double> total[4] = {};
  for (Index i = 0; i < n; i += 4 * kLanes<double>)
#pragma GCC unroll 4
    for (Index k = 0; k < 4; ++k) {
      const Index at = i + k * kLanes<double>;
      if (at >= n) break;
      typename Simd<T>::Half v;
      __builtin_memcpy(&v, p + at, sizeof v);
      total[k] += __builtin_convertvector(v, Vec<double>);
    }
  return sum<double>((total[0] + total[1]) + (total[2] + total[3]));
}

/* Adds the sums of N vectors, N at most 4, and a bias to what is there, or to nothing. */
template <class T, int N>
NETSIM_INLINE void put_sums(const Vec<T>* v, const T* bias, bool adds, T* to) {
  constexpr int L = kLanes<T>;
  if constexpr (N == 4 && L >= 4) {
    typename Counted<L>::Type lanes;
    const Vec<T> ab = halved<T, L>(v[0], v[1], lanes), cd = halved<T, L>(v[2], v[3], lanes);
    const Vec<T> r = fold<T, L / 4>(halved<T, L / 2>(ab, cd, lanes));
    typename Simd<T>::Four all, more;
    all = __builtin_shufflevector(r, r, 0, L / 4, L / 2, 3 * L / 4);
    if (bias) {
      __builtin_memcpy(&more, bias, sizeof more);
      all += more;
    }
    if (adds) {
      __builtin_memcpy(&more, to, sizeof more);
      all += more;
    }
    __builtin_memcpy(to, &all, sizeof all);
  } else {
    for (int n = 0; n < N; ++n) {
      const T value = sum<T>(v[n]) + (bias ? bias[n] : 0);
      to[n] = adds ? to[n] + value : value;
    }
  }
}

/* Steps of a transposition: of two rows, lanes whose number has bit D change places with those of
   the other row whose number has not. */
template <class T, int D, int... I>
NETSIM_INLINE void exchange(Vec<T>& a, Vec<T>& b, Sequence<I...>) {
  constexpr int all = kLanes<T>;
  const Vec<T> low = __builtin_shufflevector(a, b, ((I & D) ? all + I - D : I)...);
  b = __builtin_shufflevector(a, b, ((I & D) ? all + I : I + D)...);
  a = low;
}
template <class T, int D> NETSIM_INLINE void transpose_block(Vec<T>* v) {
  if constexpr (D > 0) {
#pragma GCC unroll 16
    for (int r = 0; r < kLanes<T>; ++r)
      if (!(r & D)) exchange<T, D>(v[r], v[r + D], typename Counted<kLanes<T>>::Type{});
    transpose_block<T, D / 2>(v);
  }
}

/* Rows to columns. Whole vectors are read and written: zeros behind the end of each row of `to`. */
template <class T>
void transpose(const T* from, Index from_pitch, T* to, Index to_pitch, Index rows, Index columns) {
  constexpr Index L = kLanes<T>;
  for (Index r = 0; r < rows; r += L)
    for (Index c = 0; c < columns; c += L) {
      Vec<T> v[L];
      const T* at = from + r * from_pitch + c;
      if (rows - r >= L) {
#pragma GCC unroll 16
        for (int i = 0; i < L; ++i) v[i] = load<T>(at + i * from_pitch);
      } else {
#pragma GCC unroll 16
        for (int i = 0; i < L; ++i) v[i] = i < rows - r ? load<T>(at + i * from_pitch) : Vec<T>{};
      }
      transpose_block<T, L / 2>(v);
      T* put = to + c * to_pitch + r;
      if (columns - c >= L) {
#pragma GCC unroll 16
        for (int i = 0; i < L; ++i) store<T>(put + i * to_pitch, v[i]);
      } else {
#pragma GCC unroll 16
        for (int i = 0; i < L; ++i)
          if (i < columns - c) store<T>(put + i * to_pitch, v[i]);
      }
    }
}

/* Powers of e: a polynomial on [-ln 2 / 2, ln 2 / 2], times a power of two in two factors, so that
   results as large and as small as they come are right. NaN stays NaN. */
template <class T> struct ExpConstants;
template <> struct ExpConstants<float> {
  static constexpr float low = -104.0f, high = 89.0f, magic = 12582912.0f;
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr int degree = 7, mantissa = 23, bias = 127;
};
template <> struct ExpConstants<double> {
  static constexpr double low = -746.0, high = 710.0, magic = 6755399441055744.0;
  static constexpr double ln2_high = 6.93145751953125e-1, ln2_low = 1.42860682030941723212e-6;
  static constexpr int degree = 13, mantissa = 52, bias = 1023;
};

template <class T> NETSIM_INLINE Vec<T> exp(Vec<T> x) {
  using C = ExpConstants<T>;
  using M = Mask<T>;
  constexpr double factorials[] = {1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0, 40320.0,
                                   362880.0, 3628800.0, 39916800.0, 479001600.0, 6227020800.0};
  x = x < C::low ? splat<T>(C::low) : x;
  x = x > C::high ? splat<T>(C::high) : x;
  Vec<T> shifted = x * static_cast<T>(1.44269504088896340736) + C::magic;
  Vec<T> n = shifted - C::magic;
  Vec<T> r = (x - n * C::ln2_high) - n * C::ln2_low;
  Vec<T> p = splat<T>(static_cast<T>(1.0 / factorials[C::degree]));
#pragma GCC unroll 16
  for (int k = C::degree - 1; k >= 0; --k) p = p * r + static_cast<T>(1.0 / factorials[k]);
  M power = bits<M>(shifted) - bits<M>(splat<T>(C::magic));
  M half = power >> 1;
  Vec<T> f1 = bits<Vec<T>>((half + C::bias) << C::mantissa);
  Vec<T> f2 = bits<Vec<T>>((power - half + C::bias) << C::mantissa);
  return p * f1 * f2;
}

}  // namespace NETSIM_VARIANT
}  // namespace netsim
