#include "clients/exported/shared_model_file.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "aggregation/base/sha256.h"
#include "aggregation/memory/shared_segment.h"
#include "clients/exported/refusal.h"

namespace fedhive::clients::exported {

SharedModelFile::SharedModelFile(const std::filesystem::path& path) {
    InputFile file(path);
    const std::uint64_t available = aggregation::available_memory_bytes();
    if (file.size() > available / 4)  // each process unpacks it once more
        throw ConfigError(
            fmt::format("{}: has {} bytes, but only {} bytes of memory are available", path.string(), file.size(), available));
    if (file.size() == 0) throw ConfigError(fmt::format("{}: is empty; fix: {}", path.string(), kExport));
    segment_ = std::make_shared<aggregation::SharedSegment>("fedhive-model", file.size());
    const std::span<char> bytes(reinterpret_cast<char*>(segment_->data()), file.size());
    if (file.read(bytes) != bytes.size()) throw ConfigError(path.string() + ": was shortened while it was read");
    Sha256 hash;
    hash.update(bytes.data(), bytes.size());
    sha256_ = hash.hex_digest();
}

ModelFileHandle SharedModelFile::handle() const {
    return segment_ ? ModelFileHandle{.descriptor = segment_->descriptor(), .bytes = segment_->size()} : ModelFileHandle{};
}

}  // namespace fedhive::clients::exported
