// torch.nn.LeakyReLU(negative_slope=real1)
template <class T> struct LeakyRelu {
  NETSIM_INLINE static Vec<T> value(Vec<T> x, T slope) { return x > Vec<T>{} ? x : x * slope; }
  NETSIM_INLINE static Vec<T> back(Vec<T> dy, Vec<T> x, Vec<T>, T slope) {
    return x > Vec<T>{} ? dy : dy * slope;
  }
};
