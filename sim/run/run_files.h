// The files of a run's folder: tells a run from an empty or foreign folder, and claims a folder for a run.
#pragma once

#include "sim/record/run_lock.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Default folder of runs.
inline const std::filesystem::path kRunsFolder = std::filesystem::path("results") / "runs";

/// Creates results/runs/<name>-<date>-<time>, with -2, -3, … appended if another run has it.
std::filesystem::path make_default_run_folder(const std::string& name);

/// Creates the folder if missing, and locks it. Throws ConfigError if it cannot be written, or if it is not empty and
/// `overwrite` is false. Overwriting removes the files of the previous run and nothing else; without a previous run, nothing.
/// The remains of a process killed before it had written config.yaml count as empty and are removed.
RunLock claim_new_folder(const std::filesystem::path& folder, bool overwrite);

/// Throws ConfigError if the folder does not hold a run.
void check_is_run(const std::filesystem::path& folder);

/// Locks the folder of a run to resume. Throws ConfigError if there is no run, or if it is still running.
RunLock claim_run(const std::filesystem::path& folder);

/// Renames folders that have a checkpoint's name: appends .damaged. Throws Fault.
void put_folders_aside(const std::filesystem::path& folder);

/// Removes temporary files of a killed process.
void remove_part_files(const std::filesystem::path& folder);

/// checkpoints/round-00000012.safetensors
std::filesystem::path checkpoint_path(const std::filesystem::path& folder, std::int64_t round);

/// The rounds that have a checkpoint, damaged ones included; ascending.
std::vector<std::int64_t> checkpoint_rounds(const std::filesystem::path& folder);

}  // namespace fedhive::sim
