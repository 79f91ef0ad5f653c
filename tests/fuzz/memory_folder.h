// A folder whose files lie in memory, for readers that want a run's or a sweep's folder.
#pragma once

#include "tests/fuzz/memory_file.h"

#include <map>
#include <string>
#include <vector>

namespace fedhive::fuzz {

class MemoryFolder {
public:
    explicit MemoryFolder(const std::vector<std::string>& names) {
        std::string name = (std::filesystem::temp_directory_path() / "fuzz-folder-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
        path_ = name;
        for (const std::string& file : names) std::filesystem::create_symlink(files_[file].path(), path_ / file);
    }
    ~MemoryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    MemoryFolder(const MemoryFolder&) = delete;
    MemoryFolder& operator=(const MemoryFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    const MemoryFile& file(const std::string& name) const { return files_.at(name); }

private:
    std::filesystem::path path_;
    std::map<std::string, MemoryFile> files_;
};

}  // namespace fedhive::fuzz
