// torch.nn.SiLU()
template <class T> struct Silu {
  NETSIM_INLINE static Vec<T> value(Vec<T> x, T) { return x / (1 + exp<T>(-x)); }
  NETSIM_INLINE static Vec<T> back(Vec<T> dy, Vec<T> x, Vec<T>, T) {
    const Vec<T> s = 1 / (1 + exp<T>(-x));
    return dy * s * (1 + x * (1 - s));
  }
};
