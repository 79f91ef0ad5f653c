// Small NumPy archives, written as by numpy.savez and numpy.savez_compressed, with helpers to damage them.
#pragma once

#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <zip.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace fedhive::clients {

template <typename T>
std::string raw(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A .npy file with that header (`order`: True or False) and these bytes.
inline std::string npy(const std::string& dtype, const std::string& shape, const std::string& data,
                       const char* order = "False") {
    const std::string quoted = dtype.starts_with('[') ? dtype : "'" + dtype + "'";
    std::string head = fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", quoted, order, shape);
    head.resize((head.size() + 1 + 10 + 63) / 64 * 64 - 10 - 1, ' ');
    head += '\n';
    std::string file("\x93NUMPY\x01\x00", 8);
    file += static_cast<char>(head.size() & 255U);
    file += static_cast<char>(head.size() >> 8);
    return file + head + data;
}

using Arrays = std::map<std::string, std::string>;  // name -> .npy file

inline std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_content(const std::filesystem::path& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary);
    file << content;
    if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

inline void write_npz(const std::filesystem::path& path, const Arrays& arrays, bool compressed = false,
                      const char* password = nullptr) {
    std::filesystem::remove(path);
    int code = 0;
    zip_t* archive = zip_open(path.c_str(), ZIP_CREATE, &code);
    if (archive == nullptr) throw std::runtime_error("cannot write " + path.string());
    for (const auto& [name, content] : arrays) {
        zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
        const zip_int64_t at = zip_file_add(archive, (name + ".npy").c_str(), source, 0);
        const auto index = static_cast<zip_uint64_t>(at);
        if (at < 0 || zip_set_file_compression(archive, index, compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) != 0 ||
            (password != nullptr && zip_file_set_encryption(archive, index, ZIP_EM_AES_256, password) != 0))
            throw std::runtime_error("cannot add " + name);
    }
    if (zip_close(archive) != 0) throw std::runtime_error("cannot close " + path.string());
}

/// train.npz with six examples of three f32, test.npz with two; three classes.
class NpzFixture {
public:
    explicit NpzFixture(bool compressed = false) : compressed_(compressed) {
        put("train", train());
        put("test", {{"x", npy("<f4", "(2, 3)", raw<float>({9, 8, 7, 6, 5, 4}))},
                     {"y", npy("<i8", "(2,)", raw<std::int64_t>({2, 0}))}});
    }

    static Arrays train() {
        std::vector<float> x(18);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.25F * static_cast<float>(i) - 1.0F;
        return {{"x", npy("<f4", "(6, 3)", raw(x))}, {"y", npy("<i8", "(6,)", raw<std::int64_t>({0, 1, 2, 2, 1, 0}))}};
    }

    std::filesystem::path file(const std::string& part) const { return folder_.path() / (part + ".npz"); }
    void put(const std::string& part, const Arrays& arrays) const { write_npz(file(part), arrays, compressed_); }

private:
    testing::TemporaryFolder folder_;
    bool compressed_;
};

}  // namespace fedhive::clients
