// Which files a run's folder holds: telling a run from an empty folder and from somebody else's, and taking a folder for a run.
#pragma once

#include "sim/record/run_lock.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Where runs go that are not told otherwise.
inline const std::filesystem::path kRunsFolder = std::filesystem::path("results") / "runs";

/// Creates results/runs/<name>-<date>-<time>, or that with -2, -3, … where another run has it.
std::filesystem::path make_default_run_folder(const std::string& name);

/// Creates the folder where it is missing, and locks it. Throws ConfigError when it cannot be written, or is not empty and `overwrite` is
/// false; overwriting removes the files of the run before and nothing else (and nothing at all where there is no run). What a process
/// left that was killed before it had written its config.yaml counts as empty, and is removed.
RunLock claim_new_folder(const std::filesystem::path& folder, bool overwrite);

/// Throws ConfigError where the folder is not that of a run.
void check_is_run(const std::filesystem::path& folder);

/// Locks the folder of a run that is to go on. Throws ConfigError: no run there, or one that is going on.
RunLock claim_run(const std::filesystem::path& folder);

/// Renames folders that stand where a checkpoint would be written: to its name with .damaged. Throws Fault.
void put_folders_aside(const std::filesystem::path& folder);

/// Removes what a killed process was writing: our files' temporary names.
void remove_part_files(const std::filesystem::path& folder);

/// checkpoints/round-00000012.safetensors
std::filesystem::path checkpoint_path(const std::filesystem::path& folder, std::int64_t round);

/// The rounds there are checkpoints of, damaged ones too; ascending.
std::vector<std::int64_t> checkpoint_rounds(const std::filesystem::path& folder);

}  // namespace fedhive::sim
