#include "record/run_schema.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace headway::record {
namespace {

struct SectionKeys {
  std::string path;
  std::vector<std::string> keys;
};

const std::vector<SectionKeys>& schema() {
  static const std::vector<SectionKeys> kSchema = {
      {"", {"model", "data", "train", "strategy"}},
      {"data",
       {"source", "batch", "valid", "shuffle", "prefetch", "rows", "path", "window", "stride", "horizon", "label",
        "alpha", "normalise", "purge", "price", "days", "arrivals"}},
      {"train",
       {"steps", "epochs", "seed", "precision", "accumulate", "optimizer", "schedule", "clip", "recompute",
        "deterministic", "evaluate", "target", "checkpoint"}},
      {"train.optimizer", {"name", "lr", "betas", "eps", "weight_decay", "momentum"}},
      {"train.schedule", {"name", "warmup", "final"}},
      {"train.evaluate", {"every", "batches"}},
      {"train.target", {"metric", "below", "above"}},
      {"train.checkpoint", {"dir", "every", "keep"}},
      {"strategy",
       {"dp", "tp", "sp", "pp", "cp", "ep", "zero", "schedule", "interleave", "micro_batches", "bucket_mb", "order"}},
  };
  return kSchema;
}

}  // namespace

const std::vector<std::string>& keys_of(std::string_view section) {
  for (const SectionKeys& each : schema()) {
    if (each.path == section) return each.keys;
  }
  throw InternalError(fmt::format("run schema: no section '{}'", section));
}

std::string home_of(std::string_view key) {
  std::string home;
  for (const SectionKeys& each : schema()) {
    if (std::find(each.keys.begin(), each.keys.end(), key) == each.keys.end()) continue;
    if (!home.empty()) return "";
    home = each.path.empty() ? std::string(key) : fmt::format("{}.{}", each.path, key);
  }
  return home;
}

}  // namespace headway::record
