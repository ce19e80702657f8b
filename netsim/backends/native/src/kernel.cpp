/* One instruction set and one scalar type; compiled once for each of both, see build.py. */
#include "program.h"

#define NETSIM_NAME_(variant, scalar) run_##variant##_##scalar
#define NETSIM_NAME(variant, scalar) NETSIM_NAME_(variant, scalar)

namespace netsim {

void NETSIM_NAME(NETSIM_VARIANT, NETSIM_SCALAR)(const Call* call, void* workspace) {
  NETSIM_VARIANT::Worker<NETSIM_SCALAR>(*call, workspace).run();
}

}  // namespace netsim
