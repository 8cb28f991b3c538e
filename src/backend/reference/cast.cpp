#include "backend/reference/functions.h"

namespace headway::backend::reference {

// Exact arithmetic: nothing is rounded.
void cast(const Call& call) {
  call.outputs[0] = call.inputs[0];
}

}  // namespace headway::backend::reference
