#include "bench/against.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/statistics.h"

namespace headway::bench {
namespace {

using Json = nlohmann::json;

constexpr Seconds kStart{900};  // compiling takes minutes
constexpr Seconds kRound{600};

struct Side {
  std::string name;
  std::string mode;
  bool large_malloc = false;
};

const std::vector<Side>& sides() {
  static const std::vector<Side> all = {{"torch eager", "eager", false},
                                        {"torch compile", "compile", false},
                                        {"torch eager, large malloc", "eager", true},
                                        {"torch compile, large malloc", "compile", true}};
  return all;
}

// Blocks up to 32 MiB, the most that glibc takes here, come from the heap, which is not given back: freed tensors cost
// no page faults when they are allocated again.
std::map<std::string, std::string> environment_of(const Side& side) {
  if (!side.large_malloc) return {};
  return {{"MALLOC_MMAP_THRESHOLD_", "33554432"}, {"MALLOC_TRIM_THRESHOLD_", "8589934592"}};
}

std::vector<std::string> command_of(const AgainstOptions& options, std::vector<std::string> more) {
  std::vector<std::string> command = {options.python, options.script.string(), options.workload, "--threads",
                                      std::to_string(options.threads)};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

Json answer_of(Process& process, Seconds timeout) {
  const std::string line = process.read_line(timeout);
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) throw EnvironmentError(fmt::format("PyTorch's side answered '{}', not JSON", line));
  if (json.contains("error")) throw EnvironmentError(fmt::format("PyTorch's side: {}", json["error"].dump()));
  return json;
}

class TorchSide {
 public:
  TorchSide(const AgainstOptions& options, const Side& side)
      : process_(command_of(options, {"--mode", side.mode, "--serve"}), environment_of(side)) {
    static_cast<void>(answer_of(process_, kStart));
  }

  // The step after a pause pays for cold caches and is dropped.
  std::vector<double> steps(double seconds) {
    if (step_ms_ <= 0) step_ms_ = median(run(3));
    const double wanted = seconds * 1e3 / step_ms_;
    std::vector<double> samples = run(std::clamp<std::int64_t>(std::llround(wanted), 3, 2000) + 1);
    samples.erase(samples.begin());
    return samples;
  }

 private:
  std::vector<double> run(std::int64_t count) {
    process_.write_line(fmt::format("step {}", count));
    return answer_of(process_, kRound).at("samples").get<std::vector<double>>();
  }

  Process process_;
  double step_ms_ = 0;
};

record::Result run_own(const AgainstOptions& options) {
  Process(options.own_command).finish(kRound);
  return record::result_from_json(read_file(options.own_result), options.own_result.string());
}

record::PeerRow row_of(const std::string& name, double ms, const std::vector<double>& own_rounds,
                       const std::vector<double>& peer_rounds) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < own_rounds.size(); ++round) {
    ratios.push_back(peer_rounds[round] / own_rounds[round]);
  }
  const Interval interval = median_interval(ratios);
  return {name, ms, median(ratios), interval.low, interval.high};
}

}  // namespace

void require_torch(const std::string& python) {
  try {
    Process({python, "-c", "import torch, safetensors, numpy"}).finish(Seconds(120));
  } catch (const EnvironmentError& error) {
    throw EnvironmentError(
        fmt::format("--against torch needs PyTorch: {}\n  python3 -m venv torchenv && torchenv/bin/pip install torch "
                    "safetensors numpy\n  and then: --python torchenv/bin/python",
                    error.what()));
  }
}

Against measure_against_torch(const AgainstOptions& options) {
  require_torch(options.python);
  std::vector<std::unique_ptr<TorchSide>> torch;
  for (const Side& side : sides()) {
    if (options.progress != nullptr) options.progress->update("starting " + side.name, 0, 0, "");
    torch.push_back(std::make_unique<TorchSide>(options, side));
  }

  Against result;
  std::vector<double> own, own_rounds;
  std::vector<std::vector<double>> rounds(sides().size());
  std::mt19937_64 random(std::random_device{}());
  std::vector<std::size_t> order(sides().size() + 1);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::int64_t round = 0; round < options.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t side : order) {
      const bool is_own = side == sides().size();
      if (options.progress != nullptr) {
        options.progress->update("rounds", round, options.rounds, is_own ? "headway" : sides()[side].name);
      }
      if (is_own) {
        result.own = run_own(options);
        const std::vector<double>& samples = result.own.samples.at("step_ms");
        own.insert(own.end(), samples.begin(), samples.end());
        own_rounds.push_back(median(samples));
      } else {
        const std::vector<double> samples = torch[side]->steps(options.seconds);
        std::vector<double>& all = result.peers[sides()[side].name];
        all.insert(all.end(), samples.begin(), samples.end());
        rounds[side].push_back(median(samples));
      }
    }
  }

  result.own.samples["step_ms"] = own;
  result.own.metrics.step_ms = {quantile(own, 0.1),
                                median(own),
                                quantile(own, 0.9),
                                quantile(own, 0.99),
                                static_cast<std::int64_t>(own.size()),
                                "rounds"};
  std::vector<double> medians;
  for (std::size_t side = 0; side < sides().size(); ++side) {
    medians.push_back(median(result.peers.at(sides()[side].name)));
    result.own.peers.push_back(row_of(sides()[side].name, medians[side], own_rounds, rounds[side]));
  }
  for (const std::size_t first : {std::size_t{0}, std::size_t{2}}) {
    const std::size_t better = medians[first] <= medians[first + 1] ? first : first + 1;
    result.own.peers.push_back(
        row_of(first == 0 ? "torch" : "torch, large malloc", medians[better], own_rounds, rounds[better]));
  }
  return result;
}

std::vector<double> torch_losses(const AgainstOptions& options, const std::filesystem::path& parameters,
                                 const std::filesystem::path& batches, std::int64_t count, DType dtype) {
  HEADWAY_CHECK(dtype == DType::kF32 || dtype == DType::kF64, "PyTorch's losses are asked for in f32 or f64");
  std::vector<std::string> more = {"--losses",          std::to_string(count), "--init",
                                   parameters.string(), "--batches",           batches.string()};
  if (dtype == DType::kF64) more.emplace_back("--double");
  Process process(command_of(options, more));
  const Json answer = answer_of(process, kStart);
  process.finish(kStart);
  return answer.at("losses").get<std::vector<double>>();
}

}  // namespace headway::bench
