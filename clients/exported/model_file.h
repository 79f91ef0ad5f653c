// The file of a model.file in a shared segment: read once by the coordinator, so that every worker has those very bytes, whatever becomes of the
// file meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace fedhive::aggregation {
class SharedSegment;
}

namespace fedhive::clients::exported {

/// Where the bytes are: plain data, part of a worker's plan.
struct FileHandle {
    int descriptor = -1;  // inherited by workers
    std::uint64_t bytes = 0;
    bool frozen_norms = false;  // as model.frozen_norms says: its norms are in eval() on purpose

    bool given() const { return descriptor >= 0; }
};

class ModelFile {
public:
    /// None.
    ModelFile() = default;

    /// Memory   the file, in a segment that lives as long as the last copy of this object.
    /// Throws   ConfigError that begins with the path: missing, unreadable, empty, more than memory is there for.
    explicit ModelFile(const std::filesystem::path& path);

    FileHandle handle() const;

    /// Of the file's bytes, in hex; empty for none.
    const std::string& sha256() const { return sha256_; }

private:
    std::shared_ptr<aggregation::SharedSegment> segment_;
    std::string sha256_;
};

}  // namespace fedhive::clients::exported
