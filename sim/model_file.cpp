#include "sim/model_file.h"

#include "aggregation/base/error.h"
#include "aggregation/base/sha256.h"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <fstream>
#include <span>

namespace fedhive::sim {

using aggregation::ConstParamSpan;
using aggregation::Layout;
using aggregation::LayoutEntry;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

namespace {

std::string_view bytes_of(const LayoutEntry& entry, ConstParamSpan model) {
    return {reinterpret_cast<const char*>(model.data + entry.offset), entry.size * sizeof(float)};
}

void write_all(int descriptor, std::string_view content, const std::filesystem::path& file) {
    while (!content.empty()) {
        const ssize_t written = write(descriptor, content.data(), content.size());
        if (written < 0) throw os_fault("writing " + file.string());
        content.remove_prefix(static_cast<std::size_t>(written));
    }
}

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& problem) {
    throw ConfigError(fmt::format("{}: {}", file.string(), problem));
}

/// The header's JSON; `content` is the whole file.
nlohmann::json parse_header(const std::filesystem::path& file, const std::string& content) {
    if (content.size() < 8) refuse(file, "not a safetensors file: shorter than 8 bytes");
    std::uint64_t length = 0;
    std::memcpy(&length, content.data(), sizeof length);
    if (length > content.size() - 8)
        refuse(file,
               fmt::format("not a safetensors file: its header claims {} bytes, the file has {}", length, content.size()));
    auto header =
        nlohmann::json::parse(content.begin() + 8, content.begin() + 8 + static_cast<std::ptrdiff_t>(length), nullptr, false);
    if (!header.is_object()) refuse(file, "not a safetensors file: its header is not a JSON object");
    header.erase("__metadata__");
    return header;
}

/// Copies one tensor, or says why it does not fit the entry.
void read_tensor(const std::filesystem::path& file, const nlohmann::json& tensor, const LayoutEntry& entry,
                 std::string_view data, float* to) {
    const std::array<const char*, 3> keys{"dtype", "shape", "data_offsets"};
    if (!tensor.is_object() || !std::all_of(keys.begin(), keys.end(), [&](const char* key) { return tensor.contains(key); }))
        refuse(file, fmt::format("tensor '{}' lacks dtype, shape or data_offsets", entry.name));
    const nlohmann::json wanted = entry.shape;
    if (tensor["dtype"] != "F32" || tensor["shape"] != wanted)
        refuse(file, fmt::format("tensor '{}' is {} {}, the model wants \"F32\" {}", entry.name, tensor["dtype"].dump(),
                                 tensor["shape"].dump(), wanted.dump()));
    const nlohmann::json& range = tensor["data_offsets"];
    const bool numbers =
        range.is_array() && std::all_of(range.begin(), range.end(), [](const auto& one) { return one.is_number_unsigned(); });
    const auto offsets = numbers ? range.get<std::vector<std::uint64_t>>() : std::vector<std::uint64_t>{};
    const std::uint64_t bytes = entry.size * sizeof(float);
    if (offsets.size() != 2 || offsets[1] > data.size() || offsets[0] > offsets[1] || offsets[1] - offsets[0] != bytes)
        refuse(file, fmt::format("tensor '{}': its data_offsets do not lie in the file", entry.name));
    std::memcpy(to, data.data() + offsets[0], bytes);
}

}  // namespace

void write_file(const std::filesystem::path& file, std::string_view content) {
    const std::filesystem::path aside = file.string() + ".part";
    const int descriptor = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) throw os_fault("cannot write " + aside.string());
    try {
        write_all(descriptor, content, aside);
        if (fsync(descriptor) != 0) throw os_fault("syncing " + aside.string());
    } catch (...) {
        close(descriptor);
        unlink(aside.c_str());
        throw;
    }
    if (close(descriptor) != 0 || std::rename(aside.c_str(), file.c_str()) != 0) {
        const Fault fault = os_fault("cannot write " + file.string());
        unlink(aside.c_str());
        throw fault;
    }
}

void write_model(const std::filesystem::path& file, const Layout& layout, ConstParamSpan model,
                 const std::map<std::string, std::string>& metadata) {
    FEDHIVE_CHECK_EQ(model.size, layout.num_floats());
    nlohmann::ordered_json header;
    header["__metadata__"] = metadata;
    std::uint64_t offset = 0;
    for (const LayoutEntry& entry : layout.entries()) {
        const std::uint64_t end = offset + entry.size * sizeof(float);
        header[entry.name] = {{"dtype", "F32"}, {"shape", entry.shape}, {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // data stay aligned
    const std::uint64_t length = text.size();
    std::string content(reinterpret_cast<const char*>(&length), sizeof length);
    content += text;
    for (const LayoutEntry& entry : layout.entries()) content += bytes_of(entry, model);
    write_file(file, content);
}

std::vector<float> read_model(const std::filesystem::path& file, const Layout& layout) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) refuse(file, "cannot be read; a finished run leaves its model there");
    const std::string content((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    const nlohmann::json header = parse_header(file, content);
    std::uint64_t length = 0;
    std::memcpy(&length, content.data(), sizeof length);
    const std::string_view data = std::string_view(content).substr(8 + length);
    std::vector<float> model(layout.num_floats());
    for (const LayoutEntry& entry : layout.entries()) {
        if (!header.contains(entry.name)) refuse(file, fmt::format("tensor '{}' of the model is missing", entry.name));
        read_tensor(file, header[entry.name], entry, data, model.data() + entry.offset);
    }
    if (header.size() != layout.entries().size())
        refuse(file, fmt::format("holds {} tensors, the model has {}", header.size(), layout.entries().size()));
    return model;
}

std::string model_sha256(const Layout& layout, ConstParamSpan model) {
    Sha256 hash;
    for (const LayoutEntry& entry : layout.entries()) hash.update(model.data + entry.offset, entry.size * sizeof(float));
    return hash.hex_digest();
}

}  // namespace fedhive::sim
