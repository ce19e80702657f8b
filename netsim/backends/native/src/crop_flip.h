/* Images moved and mirrored, see netsim/protocols/crop_flip.py. */
#pragma once
#include <algorithm>
#include <cstdint>

namespace netsim {

/* Images (n, channels, height, width) and three draws in [0, 1) each. What comes from outside of an
   image is `black`, of which there is one a channel. A pixel is found as (x - black) + black, which is
   what PyTorch's form gives: shifted while black is 0, and back. */
template <class T>
void crop_and_flip(const T* x, const T* draws, const T* black, T* out, int64_t n, int64_t channels,
                   int64_t height, int64_t width, int64_t pad) {
  const T places = T(2 * pad + 1);
  for (int64_t i = 0; i < n; ++i) {
    const T* drawn = draws + 3 * i;
    const int64_t down = int64_t(drawn[0] * places) - pad, across = int64_t(drawn[1] * places) - pad;
    const bool mirrored = drawn[2] < T(0.5);
    // Columns [first, last) of the crop are inside the image, before it is mirrored.
    const int64_t first = std::min(width, std::max<int64_t>(0, -across));
    const int64_t last = std::max(first, std::min(width, width - across));
    for (int64_t c = 0; c < channels; ++c, x += height * width) {
      const T b = black[c];
      for (int64_t r = 0; r < height; ++r, out += width) {
        const int64_t row = down + r;
        if (row < 0 || row >= height || first == last) {
          std::fill(out, out + width, b);
          continue;
        }
        const T* from = x + row * width + across + first;
        const int64_t inside = last - first, before = mirrored ? width - last : first;
        T* to = out + before;
        std::fill(out, to, b);
        if (mirrored)
          for (int64_t k = 0; k < inside; ++k) to[k] = (from[inside - 1 - k] - b) + b;
        else
          for (int64_t k = 0; k < inside; ++k) to[k] = (from[k] - b) + b;
        std::fill(to + inside, out + width, b);
      }
    }
  }
}

}  // namespace netsim
