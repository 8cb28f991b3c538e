#include "app/report/words.h"

#include <fmt/core.h>

#include <cmath>
#include <map>

namespace headway::app {

std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out, line;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && line.size() + 1 + word.size() > 80) {
      out += line + "\n";
      line = std::string(indent, ' ') + word;
    } else {
      line += at == 0 ? word : " " + word;
    }
    at = end + 1;
  }
  return out + line + "\n";
}

std::string bound_in_words(const record::Result& result) {
  const record::Metrics& metrics = result.metrics;
  std::map<std::string, double> shares;
  for (const record::BreakdownRow& row : result.breakdown) shares[row.bound] += row.share;
  std::string out;
  const double compute = shares["compute"], memory = shares["memory"], latency = shares["latency"];
  if (compute >= memory && compute >= latency) {
    out += fmt::format("The step is bound by arithmetic: {:.0f} % of it is in matrix products and convolutions.",
                       compute * 100);
    if (metrics.mfu) {
      out +=
          fmt::format(" They and all else together reach {:.0f} % of the machine's measured peak.", *metrics.mfu * 100);
    }
  } else if (memory >= latency) {
    out += fmt::format("The step is bound by memory traffic: {:.0f} % of it is in ops that move bytes.", memory * 100);
  } else {
    out += fmt::format(
        "The step is bound by launches: {:.0f} % of it is in ops too small to fill the machine; a larger "
        "batch costs little.",
        latency * 100);
  }
  if (!result.breakdown.empty()) {
    const record::BreakdownRow& top = result.breakdown.front();
    out += fmt::format(" The largest single part is {} with {:.0f} %.", top.op, top.share * 100);
  }
  std::string text = wrapped(out, 0);
  if (metrics.predicted_step_ms && metrics.step_ms) {
    const double off = (*metrics.predicted_step_ms / metrics.step_ms->p50 - 1) * 100;
    text += wrapped(fmt::format("The prediction, made from the probe alone, was {:.1f} % {} the measured step.",
                                std::abs(off), off >= 0 ? "above" : "below"),
                    0);
  }
  if (metrics.data_wait_share) {
    text += wrapped(*metrics.data_wait_share < 0.01
                        ? fmt::format("Data is not in the way: the step waits for it {:.2f} % of the time.",
                                      *metrics.data_wait_share * 100)
                        : fmt::format("The step waits for data {:.1f} % of the time.", *metrics.data_wait_share * 100),
                    0);
  }
  return text;
}

}  // namespace headway::app
