// What somebody may have meant: the nearest word, the nearest file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

/// The known word nearest to `typed` (letters added, left out, replaced or swapped with a neighbour; case does not count), else one that
/// contains it or lies in it; empty when none is near.
std::string nearest_word(const std::string& typed, const std::vector<std::string>& words);

/// What to say of a config or sweep file that is not there: "no such file; did you mean 'configs/mnist.yaml'?", or which YAML files the
/// folder has, or which folder is missing. Names are compared without their extension, which says nothing about what was meant.
std::string no_such_yaml(const std::filesystem::path& file);

/// "; did you mean 'results/runs/mnist'?" for a folder that is not there; empty where no neighbour has a name near to it.
std::string nearest_folder(const std::filesystem::path& folder);

}  // namespace fedhive::sim
