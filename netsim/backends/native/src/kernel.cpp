/* One instruction set and one scalar type; compiled once for each of both, see build.py. */
#include "program.h"
#include "views.h"

#define NETSIM_NAME_(what, variant, scalar) what##_##variant##_##scalar
#define NETSIM_NAME(what, variant, scalar) NETSIM_NAME_(what, variant, scalar)

namespace netsim {

void NETSIM_NAME(run, NETSIM_VARIANT, NETSIM_SCALAR)(const Call* call, void* workspace) {
  NETSIM_VARIANT::Worker<NETSIM_SCALAR>(*call, workspace).run();
}

void NETSIM_NAME(views, NETSIM_VARIANT, NETSIM_SCALAR)(const Views* call) {
  using T = NETSIM_SCALAR;
  T* room = static_cast<T*>(call->room);
  int32_t* columns = reinterpret_cast<int32_t*>(room + 2 * call->width);
  for (int64_t i = 0; i < call->n; ++i) NETSIM_VARIANT::View<T>(*call, i).make(room, columns);
}

}  // namespace netsim
