// A small IDX data set in a temporary folder, with helpers to damage it.
#pragma once

#include "tests/support/temporary_folder.h"

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace fedhive::clients {

using Bytes = std::vector<std::uint8_t>;

using testing::TemporaryFolder;

inline void append_word(Bytes& bytes, std::uint32_t word) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(word >> shift));
}

inline void write_bytes(const std::filesystem::path& path, const Bytes& bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

inline Bytes read_bytes(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_gzip(const std::filesystem::path& path, const Bytes& bytes) {
    const gzFile file = gzopen(path.c_str(), "wb");
    if (file == nullptr || gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) != static_cast<int>(bytes.size()) ||
        gzclose(file) != Z_OK)
        throw std::runtime_error("cannot write " + path.string());
}

/// Images with bytes that depend on position and `salt`.
inline Bytes idx_images(std::uint32_t count, std::uint32_t height, std::uint32_t width, std::uint32_t salt) {
    Bytes bytes;
    for (const std::uint32_t word : {0x803U, count, height, width}) append_word(bytes, word);
    for (std::uint32_t i = 0; i < count * height * width; ++i)
        bytes.push_back(static_cast<std::uint8_t>((i + salt) * 2654435761U >> 24));
    return bytes;
}

inline Bytes idx_labels(const Bytes& labels) {
    Bytes bytes;
    append_word(bytes, 0x801);
    append_word(bytes, static_cast<std::uint32_t>(labels.size()));
    bytes.insert(bytes.end(), labels.begin(), labels.end());
    return bytes;
}

/// Six training images of 4 x 3 with three classes, two test images.
class IdxFixture {
public:
    explicit IdxFixture(bool compressed) : compressed_(compressed) {
        put("train-images-idx3-ubyte", idx_images(6, 4, 3, 0));
        put("train-labels-idx1-ubyte", idx_labels({0, 1, 2, 2, 1, 0}));
        put("t10k-images-idx3-ubyte", idx_images(2, 4, 3, 99));
        put("t10k-labels-idx1-ubyte", idx_labels({2, 0}));
    }

    const std::filesystem::path& root() const { return folder_.path(); }
    std::string file(const std::string& name) const { return (root() / (name + (compressed_ ? ".gz" : ""))).string(); }
    void put(const std::string& name, const Bytes& content) const {
        compressed_ ? write_gzip(file(name), content) : write_bytes(file(name), content);
    }

private:
    TemporaryFolder folder_;
    bool compressed_;
};

}  // namespace fedhive::clients
