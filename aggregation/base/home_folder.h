// The folders of the files that come with the program: configs/, scripts/, the Python module.
#pragma once

#include <filesystem>

namespace fedhive {

/// The folder of the running program's file.
std::filesystem::path program_folder();

/// The nearest folder above the program that holds configs/REFERENCE.md: the checkout of build/release/fedhive, or the Python package of
/// fedhive/bin/fedhive. Empty for a program in another place.
std::filesystem::path home_folder();

/// The Python package fedhive in which the program is installed; empty for a program in a checkout or elsewhere.
std::filesystem::path package_folder();

}  // namespace fedhive
