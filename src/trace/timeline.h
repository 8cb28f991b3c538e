// Timeline: spans on (rank, stream), from a run, a simulation or an imported trace. One type for all three, so that a
// prediction and a measurement are compared span by span.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace headway::trace {

struct Span {
  std::int32_t rank = 0;
  std::int32_t stream = 0;
  std::int32_t micro_batch = 0;
  std::int32_t task = -1;  // global task number of the schedule (Schedule::first_task + index); -1 when unknown
  std::string name;        // "layers.0.attn.qkv.grad"
  std::string category;    // the op: "matmul"
  Seconds start;
  Seconds duration;
};

struct Timeline {
  std::string source;  // "measured", "predicted", "imported"
  std::vector<Span> spans;

  // End of the last span minus start of the first; 0 when empty.
  Seconds length() const;
};

// The Chrome trace-event JSON that Perfetto and chrome://tracing open: one process per rank and source, one thread per
// stream, complete events in microseconds.
std::string to_chrome_json(const std::vector<const Timeline*>& timelines);

}  // namespace headway::trace
