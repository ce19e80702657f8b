// torch.nn.GELU(approximate="none")
template <class T> struct Gelu {
  static constexpr T root_half = static_cast<T>(0.70710678118654752440);
  static constexpr T density = static_cast<T>(0.39894228040143267794);  // 1 / sqrt(2 pi)
  NETSIM_INLINE static Vec<T> below(Vec<T> x) {
    return (1 + each_lane<T>(x * root_half, scalar_erf<T>)) * static_cast<T>(0.5);
  }
  NETSIM_INLINE static Vec<T> value(Vec<T> x, T) { return x * below(x); }
  NETSIM_INLINE static Vec<T> back(Vec<T> dy, Vec<T> x, Vec<T>, T) {
    return dy * (below(x) + x * exp<T>(x * x * static_cast<T>(-0.5)) * density);
  }
};
