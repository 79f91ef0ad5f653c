#include "clients/data/formats/cifar.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"

#include <algorithm>
#include <array>

namespace fedhive::clients {

namespace {

namespace fs = std::filesystem;

constexpr ExampleShape kShape{3, 32, 32};

/// Appends the file's records to `part`.
void append(Examples& part, const fs::path& path, const CifarLayout& layout) {
    InputFile file(path);
    const std::size_t pixels = kShape.num_values();
    const std::size_t record = layout.labels + pixels;
    const std::size_t count = file.size() / record;
    if (count == 0 || file.size() % record != 0)
        throw ConfigError(fmt::format("{}: has {} bytes; expected: one or more records of {} bytes; {}", path.string(),
                                      file.size(), record, layout.to_fetch));
    const std::size_t before = part.size();
    part.labels.resize(before + count);
    part.values.resize((before + count) * pixels);
    std::vector<char> bytes(record);
    for (std::size_t i = 0; i < count; ++i) {
        if (file.read(bytes) != record) throw ConfigError(fmt::format("{}: was shortened while it was read", path.string()));
        const std::int32_t label = static_cast<std::uint8_t>(bytes[layout.label]);
        if (label >= layout.num_classes)
            throw ConfigError(fmt::format("{}: example {} has the label {}; allowed: 0 to {}; {}", path.string(), i, label,
                                          layout.num_classes - 1, layout.to_fetch));
        part.labels[before + i] = label;
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(layout.labels), pixels,
                    part.values.begin() + static_cast<std::ptrdiff_t>((before + i) * pixels));
    }
}

Examples read_files(const fs::path& root, std::span<const char* const> names, const CifarLayout& layout) {
    Examples part;
    part.shape = kShape;
    for (const char* name : names) {
        try {
            append(part, root / name, layout);
        } catch (const FileError& error) {
            throw ConfigError(fmt::format("{}; {}", error.what(), layout.to_fetch));
        }
    }
    return part;
}

}  // namespace

Dataset read_cifar(const fs::path& root, const CifarLayout& layout) {
    std::error_code error;
    if (!fs::is_directory(root, error))
        throw ConfigError(fmt::format("{}: no such folder; {}", root.string(), layout.to_fetch));
    return {read_files(root, layout.train, layout), read_files(root, layout.test, layout), layout.num_classes};
}

}  // namespace fedhive::clients
