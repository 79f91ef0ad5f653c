// Reader of IDX files, plain and compressed. Input: a byte of flags, the lengths of three parts, and the four parts.
#include "aggregation/base/error.h"
#include "clients/data/formats/idx.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "tests/support/temporary_folder.h"

#include <zlib.h>

#include <algorithm>
#include <array>

using namespace fedhive;

namespace {

constexpr std::array kNames{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                            "t10k-labels-idx1-ubyte"};

/// The four files in memory, under plain names and under names of compressed files.
struct IdxFiles {
    testing::TemporaryFolder folder;
    std::array<fuzz::MemoryFile, 4> parts;

    IdxFiles() {
        for (const char* ending : {"", ".gz"}) {
            std::filesystem::create_directory(root(*ending != '\0'));
            for (std::size_t i = 0; i < parts.size(); ++i)
                std::filesystem::create_symlink(parts[i].path(), root(*ending != '\0') / (std::string(kNames[i]) + ending));
        }
    }
    std::filesystem::path root(bool compressed) const { return folder.path() / (compressed ? "compressed" : "plain"); }
};

std::string gzip(std::string_view plain) {
    z_stream stream{};
    constexpr int kGzip = 16;  // added to the window bits: gzip header
    fuzz::expect(deflateInit2(&stream, 1, Z_DEFLATED, 15 + kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib starts");
    std::string packed(deflateBound(&stream, plain.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    fuzz::expect(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib ends");
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

void expect_whole_idx(const clients::Examples& examples, std::int64_t num_classes) {
    const auto size = static_cast<std::size_t>(examples.shape.channels * examples.shape.height * examples.shape.width);
    fuzz::expect(examples.values.size() == examples.labels.size() * size && size > 0, "an image for each label");
    fuzz::expect(std::all_of(examples.labels.begin(), examples.labels.end(),
                             [&](std::int32_t label) { return label >= 0 && label < num_classes; }),
                 "labels inside the classes");
}

}  // namespace

FEDHIVE_FUZZ_TARGET(idx)(const std::uint8_t* data, std::size_t size) {
    static const IdxFiles files;
    constexpr std::size_t kHeader = 7;
    if (size < kHeader) return 0;
    const bool compressed_names = (data[0] & 1U) != 0, compress = (data[0] & 2U) != 0;
    std::string_view rest(reinterpret_cast<const char*>(data) + kHeader, size - kHeader);
    for (std::size_t i = 0; i < files.parts.size(); ++i) {
        const std::size_t length = i == 3 ? rest.size() : std::size_t{data[1 + 2 * i]} << 8 | data[2 + 2 * i];
        const std::string_view part = rest.substr(0, length);
        rest.remove_prefix(part.size());
        files.parts.at(i).set(compress ? gzip(part) : std::string(part));
    }
    try {
        const clients::Dataset dataset = clients::read_idx(files.root(compressed_names));
        expect_whole_idx(dataset.train, dataset.num_classes);
        expect_whole_idx(dataset.test, dataset.num_classes);
    } catch (const ConfigError&) {
        return 0;
    }
    return 0;
}
