// Checkpoints: a folder per step with model.safetensors (parameters), state.safetensors (optimizer state) and
// index.json, which is complete or absent. A crash at any moment leaves the older ones as they were.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/executor.h"

namespace headway::runtime {

// What a run needs besides its tensors to go on exactly.
struct Progression {
  std::int64_t step = 0;      // steps done
  std::int64_t position = 0;  // samples taken since the start of training
  double loss = 0;            // of the last step
};

class CheckpointFolder {
 public:
  // `keep`: how many checkpoints stay.
  CheckpointFolder(std::filesystem::path folder, std::int64_t keep);

  // Makes the folder and sees that it can be written, so that a run does not find out after an hour. EnvironmentError.
  void create() const;

  // Saves under step-<n>, written beside, synced and renamed; then removes the oldest beyond `keep` and what dead
  // writers left. `run_yaml` is kept for the comparison at resume. EnvironmentError leaves all older checkpoints.
  void save(Executor& executor, const Progression& progression, const std::string& run_yaml);

  // The newest complete checkpoint; nothing when there is none.
  std::optional<std::filesystem::path> newest() const;

 private:
  std::vector<std::pair<std::int64_t, std::filesystem::path>> complete() const;  // ascending steps

  std::filesystem::path folder_;
  std::int64_t keep_;
};

struct LoadedCheckpoint {
  Progression progression;
  std::string run_yaml;
};

// Loads parameters and states by name. UserError naming the file when it is damaged (checksum), of another schema, or
// its tensors are not the graph's (which is missing or has what shape); the executor is then in an undefined state.
LoadedCheckpoint load_checkpoint(const std::filesystem::path& checkpoint, Executor& executor,
                                 const std::function<void(const std::string& run_yaml)>& accept = {});

// Parameters alone: --save-init and --init. UserError as above.
void save_parameters(const std::filesystem::path& path, Executor& executor);
void load_parameters(const std::filesystem::path& path, Executor& executor);

}  // namespace headway::runtime
