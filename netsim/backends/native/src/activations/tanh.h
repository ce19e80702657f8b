// torch.nn.Tanh()
template <class T> struct Tanh {
  NETSIM_INLINE static Vec<T> value(Vec<T> x, T) { return each_lane<T>(x, scalar_tanh<T>); }
  NETSIM_INLINE static Vec<T> back(Vec<T> dy, Vec<T>, Vec<T> y, T) { return dy * (1 - y * y); }
};
