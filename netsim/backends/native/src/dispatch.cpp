/* What Python calls: which instruction sets there are, and the kernel of one of them. */
#include "call.h"
#include "crop_flip.h"

#if defined(_WIN32)
#define NETSIM_EXPORT extern "C" __declspec(dllexport)
#else
#define NETSIM_EXPORT extern "C" __attribute__((visibility("default")))
#endif

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace netsim {

void run_plain_float(const Call*, void*);
void views_plain_float(const Views*);
void run_plain_double(const Call*, void*);
void views_plain_double(const Views*);
#if defined(__x86_64__)
void run_avx2_float(const Call*, void*);
void views_avx2_float(const Views*);
void run_avx2_double(const Call*, void*);
void views_avx2_double(const Views*);
void run_avx512_float(const Call*, void*);
void views_avx512_float(const Views*);
void run_avx512_double(const Call*, void*);
void views_avx512_double(const Views*);
#elif defined(__aarch64__)
void run_neon_float(const Call*, void*);
void views_neon_float(const Views*);
void run_neon_double(const Call*, void*);
void views_neon_double(const Views*);
#endif

namespace {

struct Variant {
  const char* name;
  int64_t vector_bytes;
  bool (*runs)();
  Run with_float, with_double;
  MakeViews views_float, views_double;
};

bool always() { return true; }

#if defined(__x86_64__)
/* Bits that must all be there; the system must save the registers, too. */
bool has(unsigned ecx1, unsigned ebx7, unsigned ecx_extended, unsigned saved) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (ecx1 | bit_OSXSAVE)) != (ecx1 | bit_OSXSAVE))
    return false;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & saved) != saved) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & ebx7) != ebx7) return false;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & ecx_extended) == ecx_extended;
}
constexpr unsigned kV3First = bit_AVX | bit_FMA | bit_F16C | bit_MOVBE | bit_SSE4_2 | bit_POPCNT;
constexpr unsigned kV3Seventh = bit_AVX2 | bit_BMI | bit_BMI2;
constexpr unsigned kLzcnt = 1u << 5;
constexpr unsigned kV4Seventh = bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;
bool has_avx2() { return has(kV3First, kV3Seventh, kLzcnt, 0x6); }
bool has_avx512() { return has(kV3First, kV3Seventh | kV4Seventh, kLzcnt, 0xe6); }
#endif

/* The best first. */
const Variant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", 64, has_avx512, run_avx512_float, run_avx512_double, views_avx512_float, views_avx512_double},
    {"avx2", 32, has_avx2, run_avx2_float, run_avx2_double, views_avx2_float, views_avx2_double},
#elif defined(__aarch64__)
    {"neon", 16, always, run_neon_float, run_neon_double, views_neon_float, views_neon_double},
#endif
    {"plain", 16, always, run_plain_float, run_plain_double, views_plain_float, views_plain_double},
};
constexpr int64_t kNumVariants = sizeof kVariants / sizeof *kVariants;

}  // namespace
}  // namespace netsim

using namespace netsim;

#ifndef NETSIM_SOURCES
#define NETSIM_SOURCES ""
#endif
/* Fingerprint of the sources that this was built from. */
NETSIM_EXPORT const char* netsim_sources() { return NETSIM_SOURCES; }

/* Sizes of the records, so that Python and the library can't disagree unnoticed. */
NETSIM_EXPORT int64_t netsim_record_bytes(int64_t which) {
  const int64_t sizes[] = {sizeof(Op), sizeof(Table), sizeof(Segment), sizeof(Call), sizeof(LossOp),
                           sizeof(LossPass), sizeof(LossProgram)};
  return which >= 0 && which < 7 ? sizes[which] : 0;
}

/* Instruction sets by number, the best one first; null behind the last. */
NETSIM_EXPORT const char* netsim_variant(int64_t variant) {
  return variant >= 0 && variant < kNumVariants ? kVariants[variant].name : nullptr;
}
NETSIM_EXPORT int64_t netsim_vector_bytes(int64_t variant) {
  return kVariants[variant].vector_bytes;
}
NETSIM_EXPORT int64_t netsim_variant_runs(int64_t variant) { return kVariants[variant].runs(); }

/* Scalars in the workspace of a worker, beside `kHeaderBytes`, and before the values. */
NETSIM_EXPORT int64_t netsim_workspace_scalars(const Call* call) { return layout_of(*call).values; }

/* Runs jobs until there are none left; any number of threads may do so with one call, each with a
   workspace of its own. */
NETSIM_EXPORT void netsim_run(const Call* call, void* workspace, int64_t variant, int64_t scalar) {
  const Variant& v = kVariants[variant];
  (scalar == 8 ? v.with_double : v.with_float)(call, workspace);
}

/* Images moved and mirrored; all but the sizes are of the scalar type, and contiguous. */
NETSIM_EXPORT void netsim_crop_and_flip(const void* x, const void* draws, const void* black, void* out,
                                        int64_t n, int64_t channels, int64_t height, int64_t width,
                                        int64_t pad, int64_t scalar) {
  auto run = [&](auto of) {
    using T = decltype(of);
    crop_and_flip((const T*)x, (const T*)draws, (const T*)black, (T*)out, n, channels, height, width,
                  pad);
  };
  scalar == 8 ? run(double()) : run(float());
}

/* Views of images, see views.h. */
NETSIM_EXPORT void netsim_views(const Views* call, int64_t variant, int64_t scalar) {
  const Variant& v = kVariants[variant];
  (scalar == 8 ? v.views_double : v.views_float)(call);
}
