// The first 20 losses equal PyTorch's from the same weights on the same batches (tests/data/torch_losses).
//
// The design allows 1e-4 relative with SGD and 1e-3 with AdamW. The files hold PyTorch's losses in f64, and its own f32
// error is below 2e-7 (2e-6 for mlp with SGD), so the bounds here are tighter: they catch a wrong eps or a missing
// decay.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "backend/cpu/cpu_device.h"
#include "base/file.h"
#include "runtime/checkpoint.h"
#include "tests/training/batches.h"
#include "tests/training/norm_net.h"

namespace headway::tests {
namespace {

const std::string kFolder = std::string(TEST_DATA) + "/torch_losses/";
constexpr double kBound = 2e-6, kBoundMlpSgd = 2e-5, kBoundTied = 1.5e-6, kBoundDeepLob = 5e-6, kBoundNorm = 2e-5,
                 kBoundNormSgd = 5e-4;

struct Case {
  std::string model;
  std::string run;  // "sgd", "adamw", "adamw_accumulate_2"

  friend void PrintTo(const Case& test, std::ostream* out) { *out << test.model << " " << test.run; }
};

nlohmann::json reference(const std::string& model) {
  return nlohmann::json::parse(read_file(kFolder + model + ".json"));
}

record::ModelConfig config_of(const nlohmann::json& model) {
  const auto text = [&](const char* key) { return std::to_string(model.at(key).get<std::int64_t>()); };
  const std::string name = model.at("name");
  if (name == "lstm" || name == "gru")
    return model_config("lstm", {{"steps", text("steps")},
                                 {"features", text("features")},
                                 {"hidden", text("hidden")},
                                 {"layers", text("layers")},
                                 {"cell", model.at("cell")}});
  // What PyTorch's builder takes is what ours takes, but for the samples of a batch and the list of channels.
  static const std::set<std::string> kSamples = {"name", "batch", "rows", "images", "days"};
  record::ModelConfig config = model_config(name, {});
  for (const auto& [key, value] : model.items()) {
    if (key == "channels" && value.is_array()) {
      for (std::size_t at = 0; at < value.size(); ++at) config.set("conv" + std::to_string(at + 1), value[at].dump());
    } else if (!kSamples.contains(key)) {
      config.set(key, value.dump());
    }
  }
  return config;
}

runtime::ForwardBuilder builder_of(const nlohmann::json& model) {
  return model.at("name") == "norm_net" ? build_norm_net : builder(config_of(model));
}

// The samples of batch 0.
class FileDataset : public data::Dataset {
 public:
  explicit FileDataset(const runtime::SafetensorsFile& file) {
    const auto rest = [](const Shape& shape) {
      return Shape(std::vector<std::int64_t>(shape.dims().begin() + 1, shape.dims().end()));
    };
    input_ = *file.find("input.0");
    target_ = *file.find("target.0");
    fields_ = data::input_and_target(DType::kF32, rest(input_.shape), DType::kF32, rest(target_.shape));
  }
  std::int64_t size() const override { return input_.shape[0]; }
  const std::vector<data::Field>& fields() const override { return fields_; }
  void read(std::int64_t index, std::span<std::byte* const> at) const override {
    for (std::size_t field = 0; field < 2; ++field) {
      const auto& from = field == 0 ? input_ : target_;
      const std::int64_t bytes = 4 * from.shape.elements() / size();
      std::memcpy(at[field], from.bytes.data() + index * bytes, static_cast<std::size_t>(bytes));
    }
  }
  std::string description() const override { return "batch 0"; }

 private:
  runtime::TensorView input_, target_;
  std::vector<data::Field> fields_;
};

graph::OptimizerSpec optimizer_of(const nlohmann::json& run) {
  const nlohmann::json& from = run.at("optimizer");
  graph::OptimizerSpec spec;
  spec.kind = from.at("name") == "sgd" ? graph::OptimizerSpec::Kind::kSgd : graph::OptimizerSpec::Kind::kAdamW;
  spec.momentum = from.value("momentum", 0.0);
  spec.weight_decay = from.value("weight_decay", 0.0);
  spec.clip = from.value("clip", 0.0);
  spec.beta1 = 0.9;
  spec.beta2 = 0.95;
  return spec;
}

double relative_difference(double found, double wanted) {
  return std::abs(found - wanted) / std::abs(wanted);
}

// The largest difference from BatchNorm's statistics, relative to the largest channel of each, and from the loss of
// batch 0 evaluated with them.
double worst_statistic(runtime::TrainingSession& session, const runtime::SafetensorsFile& batches,
                       const nlohmann::json& result) {
  double worst = 0;
  const graph::Graph& graph = session.schedule().graph;
  for (const auto& [name, values] : result.at("statistics").items()) {
    const std::span<float> found = session.executor().floats(graph.find(name));
    double difference = 0, largest = 0;
    for (std::size_t channel = 0; channel < found.size(); ++channel) {
      const double wanted = values.at(channel);
      difference = std::max(difference, std::abs(found[channel] - wanted));
      largest = std::max(largest, std::abs(wanted));
    }
    worst = std::max(worst, difference / largest);
  }
  const FileDataset first(batches);
  const double evaluated = session.evaluate(first, first.size(), 1).loss;
  return std::max(worst, relative_difference(evaluated, result.at("evaluated")));
}

// Largest relative difference of the first 20 losses from PyTorch's in f64, and of the statistics after them.
double worst_difference(const Case& test, const graph::OptimizerSpec& spec, std::int64_t accumulate) {
  const nlohmann::json all = reference(test.model), run = all.at("runs").at(test.run);
  const runtime::SafetensorsFile batches(kFolder + test.model + ".batches.safetensors");
  const auto device = backend::open_cpu_device(2);
  const std::int64_t batch = batches.find("input.0")->shape[0];
  runtime::TrainingSession session(builder_of(all.at("model")),
                                   {.batch = batch * accumulate, .accumulate = accumulate, .optimizer = spec}, *device);
  session.initialise();
  load_parameters(kFolder + test.model + ".init.safetensors", session.executor());
  const std::vector<double> losses = run.at("f64").at("losses");
  EXPECT_EQ(losses.size(), 20U);
  double worst = 0;
  for (std::size_t step = 0; step < losses.size(); ++step) {
    const auto at = static_cast<std::int64_t>(step);
    const double lr = run.at("optimizer").at("lr");
    const double loss = session.step(reference_batch(batches, at * accumulate, accumulate), at, lr).loss;
    worst = std::max(worst, relative_difference(loss, losses[step]));
  }
  const nlohmann::json& result = run.at("f64");
  return result.contains("statistics") ? std::max(worst, worst_statistic(session, batches, result)) : worst;
}

double bound_of(const Case& test) {
  if (test.model == "gpt2" || test.model == "bert") return kBoundTied;
  if (test.model == "deeplob") return kBoundDeepLob;
  if (test.model == "resnet") return kBoundNorm;
  if (test.model == "norm_net") return test.run == "sgd" ? kBoundNormSgd : kBoundNorm;
  return test.model == "mlp" && test.run == "sgd" ? kBoundMlpSgd : kBound;
}

class TorchLosses : public testing::TestWithParam<Case> {};

TEST_P(TorchLosses, AreEqual) {
  const nlohmann::json run = reference(GetParam().model).at("runs").at(GetParam().run);
  EXPECT_LE(worst_difference(GetParam(), optimizer_of(run), run.at("accumulate")), bound_of(GetParam()));
}

// The planted defects: each must move a loss by more than the bound, or the comparison proves nothing.
TEST_P(TorchLosses, SeeADefect) {
  const nlohmann::json run = reference(GetParam().model).at("runs").at(GetParam().run);
  graph::OptimizerSpec wrong = optimizer_of(run);
  if (wrong.kind == graph::OptimizerSpec::Kind::kSgd) {
    wrong.momentum = 0.899;
  } else {
    wrong.beta2 = 0.951;
  }
  EXPECT_GT(worst_difference(GetParam(), wrong, run.at("accumulate")), bound_of(GetParam()));
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const char* model : {"mlp", "convnet", "gpt", "lstm", "gru", "gpt2", "bert", "llama", "moe", "xs_transformer",
                            "tcn", "norm_net", "deeplob", "resnet"}) {
    for (const char* run : {"sgd", "adamw", "adamw_accumulate_2"}) cases.push_back({model, run});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, TorchLosses, testing::ValuesIn(all_cases()),
                         [](const auto& one) { return one.param.model + "_" + one.param.run; });

}  // namespace
}  // namespace headway::tests
