#include "app/report/console.h"

#include <fmt/core.h>

#include "app/report/words.h"
#include "base/text.h"
#include "bench/first_losses.h"

namespace headway::app {
namespace {

std::string row(const char* label, const std::string& text) {
  return fmt::format("  {:<12}{}\n", label, text);
}

std::string difference(double predicted, double measured) {
  return measured > 0 ? fmt::format("{:+.1f} %", (predicted / measured - 1) * 100) : "";
}

// Four digits, aligned numbers read faster than exact ones.
std::string milliseconds(double ms) {
  const int decimals = ms >= 1000 ? 0 : ms >= 100 ? 1 : ms >= 1 ? 2 : 4;
  return fmt::format("{:.{}f}", ms, decimals);
}

// Thousandths, as long as the column has room for them.
std::string column_ms(double ms) {
  return fmt::format("{:.{}f}", ms, ms >= 10000 ? 0 : 3);
}

std::string headline(const record::Result& result) {
  const std::string name = result.workload.empty() ? result.kind : result.workload;
  return fmt::format("{}  {} {}  {} thread{} of {}\n", name, result.kind, result.precision, result.threads,
                     result.threads == 1 ? "" : "s", result.device);
}

std::string step_rows(const record::Result& result) {
  const record::Metrics& metrics = result.metrics;
  std::string out;
  if (metrics.step_ms) {
    const record::StepTime& step = *metrics.step_ms;
    out += row("step",
               fmt::format("{} ms   (p10 {}, p90 {}, p99 {}; {} steps, {})", milliseconds(step.p50),
                           milliseconds(step.p10), milliseconds(step.p90), milliseconds(step.p99), step.n, step.stop));
  }
  if (metrics.predicted_step_ms) {
    std::string text = milliseconds(*metrics.predicted_step_ms) + " ms";
    if (metrics.step_ms) text += fmt::format("   ({})", difference(*metrics.predicted_step_ms, metrics.step_ms->p50));
    out += row("predicted", text);
  }
  if (metrics.items_per_s)
    out += row("throughput", fmt::format("{} {}/s", format_si(*metrics.items_per_s), metrics.item));
  if (metrics.mfu && metrics.peak_flops) {
    const std::string hfu = metrics.hfu ? fmt::format(", HFU {:.1f} %,", *metrics.hfu * 100) : "";
    out += row("utilization", fmt::format("MFU {:.1f} %{} of the measured {}FLOP/s", *metrics.mfu * 100, hfu,
                                          format_si(*metrics.peak_flops)));
  }
  if (metrics.memory_bandwidth_share) {
    out += row("bandwidth",
               fmt::format("{:.1f} % of the measured memory bandwidth", *metrics.memory_bandwidth_share * 100));
  }
  return out;
}

std::string training_rows(const record::Result& result) {
  const record::Metrics& metrics = result.metrics;
  std::string out;
  if (metrics.loss) {
    std::string text = fmt::format("{:.5g}", *metrics.loss);
    if (metrics.valid_loss) text += fmt::format("   valid {:.5g}", *metrics.valid_loss);
    if (metrics.valid_accuracy) text += fmt::format("   accuracy {:.2f} %", *metrics.valid_accuracy * 100);
    if (metrics.valid_baseline_accuracy) {
      text += fmt::format(" (commonest class {:.2f} %)", *metrics.valid_baseline_accuracy * 100);
    }
    if (metrics.valid_r2) text += fmt::format("   R2 {:.3f}", *metrics.valid_r2);
    out += row("loss", text);
  }
  if (metrics.loss_difference && metrics.loss_error && metrics.peer_loss_error) {
    const bool equal = bench::losses_agree(result.samples.at("loss"), result.samples.at("torch eager loss"),
                                           result.samples.at("torch float64 loss"));
    out += row("losses", fmt::format("the first 20 {} PyTorch's: {:.1e} apart at most", equal ? "are" : "ARE NOT",
                                     *metrics.loss_difference));
    out += row("", fmt::format("from the same in float64: {:.1e} here, {:.1e} in PyTorch", *metrics.loss_error,
                               *metrics.peer_loss_error));
  }
  if (metrics.steps && metrics.epochs) {
    out += row("trained", fmt::format("{} steps, {:.3g} epochs", *metrics.steps, *metrics.epochs));
  }
  if (metrics.time_to_target_s)
    out += row("target", fmt::format("reached in {}", format_seconds(Seconds(*metrics.time_to_target_s))));
  if (metrics.planned_bytes) {
    std::string text = fmt::format("planned {}", format_bytes(Bytes(*metrics.planned_bytes)));
    if (metrics.arena_bytes) text += fmt::format(", arena {}", format_bytes(Bytes(*metrics.arena_bytes)));
    if (metrics.peak_rss_bytes) text += fmt::format(", peak RSS {}", format_bytes(Bytes(*metrics.peak_rss_bytes)));
    out += row("memory", text);
  }
  if (metrics.data_wait_share)
    out += row("data wait", fmt::format("{:.2f} % of the time", *metrics.data_wait_share * 100));
  return out;
}

std::string breakdown_table(const record::Result& result) {
  if (result.breakdown.empty()) return "";
  const bool measured = result.metrics.step_ms.has_value();
  std::string out = fmt::format("  {:<20}{:>9}{:>8}{:>11}{:>9}{:>10}  {}\n", "op", measured ? "ms" : "pred. ms",
                                "share", measured ? "predicted" : "", measured ? "diff" : "", "rate", "bound");
  std::size_t shown = 0;
  double rest = 0;
  for (const record::BreakdownRow& op : result.breakdown) {
    // Rows under a thousandth of the step are summed up: they explain nothing.
    if (op.share < 0.001 && shown >= 4) {
      rest += op.ms;
      continue;
    }
    ++shown;
    std::string rate;
    if (op.ms > 0) {
      rate = op.flops > 0 ? fmt::format("{:.0f} GF/s", op.flops / op.ms * 1e-6)
                          : fmt::format("{:.1f} GB/s", op.bytes / op.ms * 1e-6);
    }
    const bool both = measured && op.predicted_ms;
    out += fmt::format("  {:<20}{:>9}{:>6.1f} %{:>11}{:>9}{:>10}  {}\n", op.op, column_ms(op.ms), op.share * 100,
                       both ? column_ms(*op.predicted_ms) : "", both ? difference(*op.predicted_ms, op.ms) : "", rate,
                       op.bound);
  }
  if (rest > 0) out += fmt::format("  {:<20}{:>9}\n", "(others)", column_ms(rest));
  return out;
}

std::string peer_table(const record::Result& result) {
  if (result.peers.empty()) return "";
  std::string out = fmt::format("  {:<30}{:>10}{:>9}   {}\n", "peer", "ms", "ratio", "interval over the rounds");
  for (const record::PeerRow& peer : result.peers) {
    out += fmt::format("  {:<30}{:>10}{:>9.2f}   {:.2f} to {:.2f}\n", peer.peer, milliseconds(peer.ms), peer.ratio,
                       peer.low, peer.high);
  }
  return out;
}

// Counts of a step, where the machine gave them.
std::string meter_row(const record::Metrics& metrics) {
  std::string text;
  const auto append = [&text](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
  if (metrics.instructions_per_step) append(format_si(*metrics.instructions_per_step) + " instructions");
  if (metrics.instructions_per_step && metrics.cycles_per_step && *metrics.cycles_per_step > 0) {
    append(fmt::format("{:.2f} a cycle", *metrics.instructions_per_step / *metrics.cycles_per_step));
  }
  if (metrics.cache_misses_per_step) append(format_si(*metrics.cache_misses_per_step) + " cache misses");
  if (metrics.joules_per_step) append(fmt::format("{:.3g} J", *metrics.joules_per_step));
  return text.empty() ? "" : row("a step", text);
}

}  // namespace

std::string console_text(const record::Result& result) {
  std::string out = headline(result) + step_rows(result) + training_rows(result) + meter_row(result.metrics) +
                    peer_table(result) + breakdown_table(result);
  for (const std::string& note : result.notes) out += wrapped("  note: " + note, 8);
  return out + "\n";
}

std::string console_list(const std::vector<record::Result>& results) {
  if (results.empty()) return "no results yet; `headway bench mlp` makes one\n";
  std::string out =
      fmt::format("{:<32}{:<8}{:<13}{:>8}{:>10}{:>8}\n", "id", "kind", "workload", "step ms", "items/s", "MFU");
  for (const record::Result& result : results) {
    const record::Metrics& metrics = result.metrics;
    out += fmt::format("{:<32}{:<8}{:<13}{:>8}{:>10}{:>8}\n", result.id, result.kind, result.workload.substr(0, 12),
                       metrics.step_ms ? milliseconds(metrics.step_ms->p50) : "",
                       metrics.items_per_s ? format_si(*metrics.items_per_s) : "",
                       metrics.mfu ? fmt::format("{:.1f} %", *metrics.mfu * 100) : "");
  }
  return out;
}

}  // namespace headway::app
