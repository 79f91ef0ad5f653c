// Reader of NumPy archives. Input: a byte of flags (1: the rest is a whole training archive; 2: tokens; 4: targets are numbers;
// 8: classes per position), then the archive, or its members: length of x.npy (two bytes, big-endian), x.npy, length of y.npy,
// y.npy, and the rest as client.npy. The test archive is valid.
#include "aggregation/base/error.h"
#include "clients/data/formats/npz.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/read_examples.h"
#include "tests/support/zip_archive.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

using namespace fedhive;
using fedhive::testing::archive_of;
using fedhive::testing::Members;

namespace {

std::string npy(std::string head, const std::string& data) {
    head.resize(118, ' ');
    return std::string("\x93NUMPY\1\0\x76\0", 10) + head + data;
}

std::string test_archive(bool tokens) {
    const float x[3] = {1.0F, 2.0F, 3.0F};
    const std::int32_t integers[3] = {0, 1, 0};
    const std::string y = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", std::string(1, '\0'));
    if (tokens)
        return archive_of({{"x.npy", npy("{'descr': '<i4', 'fortran_order': False, 'shape': (1, 3), }",
                                         {reinterpret_cast<const char*>(integers), sizeof integers})},
                           {"y.npy", y}});
    return archive_of({{"x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }",
                                     {reinterpret_cast<const char*>(x), sizeof x})},
                       {"y.npy", y}});
}

/// The next part; its length precedes it.
std::string taken(std::string_view& rest) {
    if (rest.size() < 2) return {};
    const std::size_t length = std::size_t{static_cast<std::uint8_t>(rest[0])} << 8 | static_cast<std::uint8_t>(rest[1]);
    const std::string part(rest.substr(2, length));
    rest.remove_prefix(2 + part.size());
    return part;
}

void expect_whole_npz(const clients::Examples& part, std::int64_t num_classes) {
    fuzz::expect_examples(part, num_classes);
    fuzz::expect((part.labels.size() + part.numbers.size()) % part.target.width == 0, "as many targets for each example");
    if (part.type != clients::ValueType::I32) return;
    for (std::size_t i = 0; i < part.size() * part.shape.num_values(); ++i) {
        std::int32_t token = 0;
        std::memcpy(&token, &part.values[i * sizeof token], sizeof token);
        fuzz::expect(token >= 0 && token < part.shape.vocabulary, "tokens of the vocabulary");
    }
}

}  // namespace

FEDHIVE_FUZZ_TARGET(npz)(const std::uint8_t* data, std::size_t size) {
    static const fuzz::MemoryFile train, test;
    if (size == 0) return 0;
    std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    if ((data[0] & 1U) != 0) {
        train.set(rest);
    } else {
        const std::string x = taken(rest), y = taken(rest);
        Members members{{"x.npy", x}, {"y.npy", y}};
        if (!rest.empty()) members.emplace_back("client.npy", rest);
        train.set(archive_of(members));
    }
    const bool tokens = (data[0] & 2U) != 0;
    const auto targets = (data[0] & 4U) != 0   ? clients::TargetKind::Numbers
                         : (data[0] & 8U) != 0 ? clients::TargetKind::ClassEach
                                               : clients::TargetKind::Class;
    test.set(test_archive(tokens));
    try {
        const clients::Dataset dataset = clients::read_npz({train.path(), test.path(), tokens, 0, targets});
        expect_whole_npz(dataset.train, dataset.num_classes);
        expect_whole_npz(dataset.test, dataset.num_classes);
    } catch (const ConfigError&) {
        return 0;
    }
    return 0;
}
