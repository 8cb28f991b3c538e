// The probe as commands use it.
#pragma once

#include <filesystem>
#include <string>

#include "cluster/cluster.h"

namespace headway::app {

// Measures this machine with `threads` threads (0: every allowed core), writes the cluster file and returns it.
cluster::Cluster probe_to(const std::filesystem::path& path, int threads);

// What was found, in a few lines.
std::string probe_text(const cluster::Cluster& cluster);

}  // namespace headway::app
