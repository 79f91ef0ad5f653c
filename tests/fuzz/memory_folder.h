// A folder with files in memory, for readers of a run's or sweep's folder.
#pragma once

#include "tests/fuzz/memory_file.h"
#include "tests/support/temporary_folder.h"

#include <map>
#include <string>
#include <vector>

namespace fedhive::fuzz {

class MemoryFolder : public testing::TemporaryFolder {
public:
    explicit MemoryFolder(const std::vector<std::string>& names) {
        for (const std::string& file : names) std::filesystem::create_symlink(files_[file].path(), path() / file);
    }

    const MemoryFile& file(const std::string& name) const { return files_.at(name); }

private:
    std::map<std::string, MemoryFile> files_;
};

}  // namespace fedhive::fuzz
