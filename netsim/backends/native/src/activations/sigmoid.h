// torch.nn.Sigmoid()
template <class T> struct Sigmoid {
  NETSIM_INLINE static Vec<T> value(Vec<T> x, T) { return 1 / (1 + exp<T>(-x)); }
  NETSIM_INLINE static Vec<T> back(Vec<T> dy, Vec<T>, Vec<T> y, T) { return dy * y * (1 - y); }
};
