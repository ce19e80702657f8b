/* Random views of images, see netsim/protocols/augmentation.py: what is done with the pixels, when it
   is known where each crop is and how its colours change. */
#pragma once
#include "machine.h"

namespace netsim {
namespace NETSIM_VARIANT {

template <class T> NETSIM_INLINE Vec<T> least(Vec<T> a, Vec<T> b) { return select<T>(b < a, b, a); }
template <class T> NETSIM_INLINE Vec<T> most(Vec<T> a, Vec<T> b) { return select<T>(b > a, b, a); }
template <class T> NETSIM_INLINE Vec<T> in_unit(Vec<T> x) {
  return least<T>(most<T>(x, Vec<T>{}), splat<T>(1));
}

/* Red, green and blue with their hue turned by a part of the circle. */
template <class T> NETSIM_INLINE void turn_hue(Vec<T>* c, T turn) {
  const Vec<T> value = most<T>(most<T>(c[0], c[1]), c[2]), low = least<T>(least<T>(c[0], c[1]), c[2]);
  const Vec<T> chroma = value - low;
  const Vec<T> divisor = select<T>(chroma > 0, chroma, splat<T>(1));
  const Vec<T> r = (value - c[0]) / divisor, g = (value - c[1]) / divisor, b = (value - c[2]) / divisor;
  Vec<T> sixths = select<T>(c[1] == value, 2 + r - b, 4 + g - r);
  sixths = select<T>(c[0] == value, b - g, sixths) + 6 * turn;
  const T begins[3] = {5, 3, 1};
  for (int i = 0; i < 3; ++i) {
    Vec<T> k = sixths + begins[i];
    for (int again = 0; again < 2; ++again) {  // a turn is one circle at most
      k = select<T>(k < 0, k + 6, k);
      k = select<T>(k >= 6, k - 6, k);
    }
    c[i] = value - chroma * in_unit<T>(least<T>(k, 4 - k));
  }
}

template <class T> class View {
 public:
  View(const Views& call, Index image)
      : call_(call), how_(static_cast<const T*>(call.how) + image * kViewColumns),
        mean_(static_cast<const T*>(call.means)), deviation_(static_cast<const T*>(call.deviations)),
        pixels_(call.height * call.width),
        from_(static_cast<const T*>(call.x) + image * call.channels * pixels_),
        to_(static_cast<T*>(call.out) + image * call.channels * pixels_) {}

  /* `room` holds a row, and where the crop's columns are: 3 (W + a vector) scalars. */
  void make(T* room, int32_t* columns) {
    crop(room, columns);
    if (how_[kJittered] != 0)
      for (int place = 0; place < 4; ++place)
        change(static_cast<int>(how_[kTurns + place]), how_[kAmounts + place]);
    if (how_[kGrey] != 0 && call_.channels == 3)
      each([](Vec<T>* c) { c[0] = c[1] = c[2] = luma(c); });
    for (Index c = 0; c < call_.channels; ++c) {
      T* plane = to_ + c * pixels_;
      for (Index i = 0; i < pixels_; ++i) plane[i] = (plane[i] - mean_[c]) / deviation_[c];
    }
  }

 private:
  static NETSIM_INLINE Vec<T> luma(const Vec<T>* c) {
    return c[0] * static_cast<T>(0.2989) + c[1] * static_cast<T>(0.587) + c[2] * static_cast<T>(0.114);
  }

  static T place(T begin, T length, Index i, Index size) {
    const T at = begin + (static_cast<T>(i) + static_cast<T>(0.5)) * (length / static_cast<T>(size)) -
                 static_cast<T>(0.5);
    const T last = begin + length - 1;
    const T inside = at < begin ? begin : at;
    return inside > last ? last : inside;
  }

  /* The crop stretched to the image's size, perhaps mirrored, in pixels from 0 to 1. */
  void crop(T* row, int32_t* columns) {
    const Index h = call_.height, w = call_.width;
    T* share = row + w;
    for (Index j = 0; j < w; ++j) {
      const Index to = how_[kFlipped] != 0 ? w - 1 - j : j;
      const T at = place(how_[kLeft], how_[kWidth], j, w);
      columns[to] = static_cast<int32_t>(at);
      share[to] = at - static_cast<T>(columns[to]);
    }
    for (Index i = 0; i < h; ++i) {
      const T at = place(how_[kTop], how_[kHeight], i, h);
      const Index above = static_cast<Index>(at), below = above + 1 < h ? above + 1 : above;
      const T down = at - static_cast<T>(above);
      for (Index c = 0; c < call_.channels; ++c) {
        const T *a = from_ + c * pixels_ + above * w, *b = from_ + c * pixels_ + below * w;
        for (Index j = 0; j < w; ++j)
          row[j] = (a[j] + (b[j] - a[j]) * down) * deviation_[c] + mean_[c];
        T* out = to_ + c * pixels_ + i * w;
        for (Index j = 0; j < w; ++j) {
          const Index left = columns[j], right = left + 1 < w ? left + 1 : left;
          out[j] = row[left] + (row[right] - row[left]) * share[j];
        }
      }
    }
  }

  /* One change of colours: brightness, contrast, saturation or hue. */
  void change(int which, T amount) {
    if (call_.channels != 3) {
      if (which > 1) return;
      const Index all = call_.channels * pixels_;
      double total = 0;
      for (Index i = 0; i < all && which == 1; ++i) total += to_[i];
      const T other = static_cast<T>(total / static_cast<double>(all));
      for (Index i = 0; i < all; ++i) {
        const T x = to_[i] + amount * (to_[i] - other);
        to_[i] = x < 0 ? 0 : x > 1 ? 1 : x;
      }
      return;
    }
    if (which == 3) return each([amount](Vec<T>* c) { turn_hue<T>(c, amount); });
    if (which == 2)
      return each([amount](Vec<T>* c) {
        const Vec<T> grey = luma(c);
        for (int k = 0; k < 3; ++k) c[k] = in_unit<T>(c[k] + (c[k] - grey) * amount);
      });
    const T other = which == 1 ? mean_grey() : 0;
    each([amount, other](Vec<T>* c) {
      for (int k = 0; k < 3; ++k) c[k] = in_unit<T>(c[k] + (c[k] - other) * amount);
    });
  }

  T mean_grey() {
    double total = 0;
    for (Index i = 0; i < pixels_; ++i)
      total += static_cast<double>(to_[i] * static_cast<T>(0.2989) +
                                   to_[i + pixels_] * static_cast<T>(0.587) +
                                   to_[i + 2 * pixels_] * static_cast<T>(0.114));
    return static_cast<T>(total / static_cast<double>(pixels_));
  }

  /* A function of red, green and blue, for each pixel. */
  template <class F> NETSIM_INLINE void each(F f) {
    Vec<T> c[3];
    Index i = 0;
    for (; i + kLanes<T> <= pixels_; i += kLanes<T>) {
      for (int k = 0; k < 3; ++k) c[k] = load<T>(to_ + k * pixels_ + i);
      f(c);
      for (int k = 0; k < 3; ++k) store<T>(to_ + k * pixels_ + i, c[k]);
    }
    if (i == pixels_) return;
    T room[kLanes<T>] = {};
    for (int k = 0; k < 3; ++k) {
      copy(room, to_ + k * pixels_ + i, pixels_ - i);
      c[k] = load<T>(room);
    }
    f(c);
    for (int k = 0; k < 3; ++k) {
      store<T>(room, c[k]);
      copy(to_ + k * pixels_ + i, room, pixels_ - i);
    }
  }

  const Views& call_;
  const T *how_, *mean_, *deviation_;
  const Index pixels_;
  const T* from_;
  T* to_;
};

}  // namespace NETSIM_VARIANT
}  // namespace netsim
