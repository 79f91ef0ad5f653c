// The contents of model.file in a shared segment. The coordinator reads the file once, so that every worker has the same bytes
// even if the file changes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace fedhive::aggregation {
class SharedSegment;
}

namespace fedhive::clients::exported {

/// The segment with the file's bytes; plain data, part of a worker's plan.
struct ModelFileHandle {
    int descriptor = -1;  // inherited by workers
    std::uint64_t bytes = 0;
    bool frozen_norms = false;  // set by model.frozen_norms: norms are in eval() on purpose

    bool given() const { return descriptor >= 0; }
};

class SharedModelFile {
public:
    /// No file.
    SharedModelFile() = default;

    /// Memory   the file, in a segment that lives as long as the last copy of this object.
    /// Throws   ConfigError that begins with the path if the file is missing, unreadable, empty,
    ///          or larger than the available memory.
    explicit SharedModelFile(const std::filesystem::path& path);

    ModelFileHandle handle() const;

    /// SHA-256 of the file's bytes in hex; empty without a file.
    const std::string& sha256() const { return sha256_; }

private:
    std::shared_ptr<aggregation::SharedSegment> segment_;
    std::string sha256_;
};

}  // namespace fedhive::clients::exported
