// torch.nn.GELU(approximate="tanh")
template <class T> struct GeluTanh {
  static constexpr T scale = static_cast<T>(0.79788456080286535588);  // sqrt(2 / pi)
  static constexpr T cubic = static_cast<T>(0.044715);
  NETSIM_INLINE static Vec<T> bent(Vec<T> x) {
    return each_lane<T>((x + x * x * x * cubic) * scale, scalar_tanh<T>);
  }
  NETSIM_INLINE static Vec<T> value(Vec<T> x, T) {
    return x * (1 + bent(x)) * static_cast<T>(0.5);
  }
  NETSIM_INLINE static Vec<T> back(Vec<T> dy, Vec<T> x, Vec<T>, T) {
    const Vec<T> t = bent(x), inner = (1 + x * x * (3 * cubic)) * scale;
    return dy * ((1 + t) + x * (1 - t * t) * inner) * static_cast<T>(0.5);
  }
};
