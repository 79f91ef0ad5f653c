// Suggestions: the nearest known word, the nearest file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

/// The known word nearest to `typed` by inserted, missing, replaced or transposed letters, without regard to case; else a word that contains it
/// or is contained in it; empty if none is near.
std::string nearest_word(const std::string& typed, const std::vector<std::string>& words);

/// Message for a missing config or sweep file: "no such file; did you mean 'configs/mnist.yaml'?", or the YAML files of its
/// folder, or the missing folder. Compares names without their extension.
std::string no_such_yaml(const std::filesystem::path& file);

/// "; did you mean 'results/runs/mnist'?" for a missing folder; empty if no neighbour has a similar name.
std::string nearest_folder(const std::filesystem::path& folder);

}  // namespace fedhive::sim
