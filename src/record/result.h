// What a command found out, with the machine it ran on: the record behind every table, report and comparison
//. One Result is one JSON object of schema "headway.result/1".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/machine.h"
#include "record/run.h"

namespace headway::record {

inline constexpr std::string_view kResultSchema = "headway.result/1";

// Distribution of the wall time of a step over all ranks, in milliseconds, start-up dropped.
struct StepTime {
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  std::int64_t n = 0;  // samples
  std::string stop;    // why sampling ended: "error" (target reached), "settled", "time", "steps"

  bool operator==(const StepTime&) const = default;
};

// A field without a value does not apply to this command and is left out of the JSON; NaN (a loss that diverged) is
// written as null.
struct Metrics {
  std::optional<StepTime> step_ms;
  std::optional<double> items_per_s;
  std::string item;  // what items_per_s counts: "row", "window", "token", "image"
  std::optional<double> mfu;
  std::optional<double> hfu;
  std::optional<double> flops_per_step;
  std::optional<double> peak_flops;  // FLOP/s, the denominator of mfu
  std::optional<double> memory_bandwidth_share;
  std::optional<double> loss;  // of the last step
  std::optional<double> valid_loss;
  std::optional<double> valid_accuracy;
  std::optional<double> valid_baseline_accuracy;  // of always answering the commonest class
  std::optional<double> valid_r2;                 // 1 - valid_loss / variance of the target, of regressions
  std::optional<std::int64_t> steps;
  std::optional<double> epochs;
  std::optional<double> time_to_target_s;
  std::optional<std::int64_t> planned_bytes;
  std::optional<std::int64_t> arena_bytes;
  std::optional<std::int64_t> peak_rss_bytes;
  std::optional<double> data_wait_share;
  std::optional<double> exposed_comm_share;
  std::optional<double> predicted_step_ms;
  std::optional<double> instructions_per_step;
  std::optional<double> cycles_per_step;
  std::optional<double> cache_misses_per_step;  // of the last level
  std::optional<double> joules_per_step;        // of all processor packages
  std::optional<double> loss_difference;        // largest relative one from a peer's over the first steps
  std::optional<double> loss_error;             // the same from the peer's in f64: what rounding did here
  std::optional<double> peer_loss_error;        // and what it did there

  bool operator==(const Metrics&) const = default;
};

// Where the time of a step went, one row per kind of op.
struct BreakdownRow {
  std::string op;
  double ms = 0;
  std::optional<double> predicted_ms;
  double share = 0;
  double flops = 0;
  double bytes = 0;
  std::string bound;  // "compute", "memory", "latency", "communication"

  bool operator==(const BreakdownRow&) const = default;
};

// Another program's time for the same step, measured in turns with ours.
struct PeerRow {
  std::string peer;  // "torch eager"
  double ms = 0;     // median
  double ratio = 0;  // its median over ours: above 1, we are faster
  double low = 0;    // interval of the ratio
  double high = 0;

  bool operator==(const PeerRow&) const = default;
};

struct Result {
  std::string kind;      // the command: "bench", "train", "predict", ...
  std::string id;        // make_id()
  std::string time;      // utc_now()
  std::string revision;  // of the program
  Machine machine;
  std::string workload;
  std::string precision;
  std::int64_t ranks = 1;
  std::int64_t threads = 1;
  std::string device = "cpu";
  StrategyConfig strategy;  // JSON holds what differs from the default, so {} is one rank alone
  Metrics metrics;
  std::vector<BreakdownRow> breakdown;
  std::vector<PeerRow> peers;
  std::map<std::string, std::vector<double>> samples;  // "step_ms", "loss", ...
  std::vector<std::string> notes;

  bool operator==(const Result&) const = default;
};

// JSON text; indent < 0 puts it on one line. Bytes that are not UTF-8 are replaced, never an error.
std::string to_json(const Result& result, int indent = 2);
std::string to_json(std::span<const Result> results, int indent = 2);

// One Result out of JSON text; `where` is the file's name for messages. Unknown keys are ignored, absent ones keep
// their initial value except schema, kind and id. UserError names file and key for a wrong schema or type.
Result result_from_json(std::string_view text, const std::string& where);

// One Result or a list of them.
std::vector<Result> results_from_json(std::string_view text, const std::string& where);

// A new id: the time to the microsecond, then 32 random bits; later ids sort after earlier ones.
std::string make_id();

// The id of a given moment (microseconds since 1970) and random bits.
std::string make_id(std::int64_t moment, std::uint32_t random);

// The time as "2025-06-01T12:34:56Z".
std::string utc_now();

}  // namespace headway::record
