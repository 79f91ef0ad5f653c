// Python with the packages of scripts/setup --tests, for programs that a test starts.
#pragma once

#include "tests/support/places.h"

#include <cstdlib>
#include <filesystem>

namespace fedhive::testing {

/// Whether there is NumPy; then the programs that this process starts find it.
inline bool python_has_numpy() {
    const std::filesystem::path packages = source_folder() / ".deps/python";
    if (!std::filesystem::exists(packages / "numpy")) return false;
    setenv("FEDHIVE_PYTHONPATH", ((source_folder() / "scripts/lib").string() + ":" + packages.string()).c_str(), 1);
    return true;
}

}  // namespace fedhive::testing
