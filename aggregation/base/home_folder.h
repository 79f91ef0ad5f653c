// Where the program finds the files that it ships with (configs/, scripts/, the Python module), and where it caches what it can make again.
#pragma once

#include <filesystem>

namespace fedhive {

/// The folder of the running program's file.
std::filesystem::path program_folder();

/// The nearest folder above the program that contains configs/REFERENCE.md. For build/release/fedhive that is the checkout, for
/// fedhive/bin/fedhive the Python package. Empty if there is none.
std::filesystem::path home_folder();

/// The Python package fedhive in which the program is installed; empty for a program in a checkout or elsewhere.
std::filesystem::path package_folder();

/// $XDG_CACHE_HOME/fedhive or ~/.cache/fedhive, which may not exist yet; empty if neither variable is set to an absolute path (others do not
/// count, by the XDG Base Directory Specification).
std::filesystem::path cache_folder();

}  // namespace fedhive
