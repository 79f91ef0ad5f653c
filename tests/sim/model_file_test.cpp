#include "sim/model_file.h"

#include "aggregation/base/error.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <numeric>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

aggregation::Layout small_layout() {
    aggregation::Layout layout;
    layout.add("fc.weight", {2, 3});
    layout.add("fc.bias", {2});
    return layout;
}

std::vector<float> small_model(const aggregation::Layout& layout) {
    std::vector<float> model(layout.num_floats(), 0.0F);
    for (const auto& entry : layout.entries())
        std::iota(model.begin() + static_cast<std::ptrdiff_t>(entry.offset),
                  model.begin() + static_cast<std::ptrdiff_t>(entry.offset + entry.size), 1.5F);
    return model;
}

/// A file with that JSON header and as many zero bytes.
void write_raw(const std::filesystem::path& file, const std::string& header, std::size_t data_bytes) {
    const std::uint64_t length = header.size();
    std::ofstream stream(file, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(&length), sizeof length);
    stream << header << std::string(data_bytes, '\0');
}

}  // namespace

TEST_SUITE("ModelFile") {
    TEST_CASE("WrittenModelIsReadBackBitForBit") {
        const testing::TemporaryFolder folder;
        const auto layout = small_layout();
        const auto model = small_model(layout);
        write_model(folder.path() / "m.safetensors", layout, model, {{"round", "3"}});
        CHECK(read_model(folder.path() / "m.safetensors", layout) == model);
        CHECK_FALSE(std::filesystem::exists(folder.path() / "m.safetensors.part"));
    }

    TEST_CASE("HeaderFollowsTheSafetensorsFormat") {
        const testing::TemporaryFolder folder;
        const auto layout = small_layout();
        write_model(folder.path() / "m", layout, small_model(layout), {});
        std::ifstream stream(folder.path() / "m", std::ios::binary);
        const std::string content((std::istreambuf_iterator<char>(stream)), {});
        std::uint64_t length = 0;
        std::memcpy(&length, content.data(), 8);
        CHECK(length % 8 == 0);
        CHECK(content.size() == 8 + length + 8 * sizeof(float));
        CHECK(content.find(R"("fc.bias":{"dtype":"F32","shape":[2],"data_offsets":[24,32]})") != std::string::npos);
    }

    TEST_CASE("FileThatDoesNotFitIsRefusedWithTheReason") {
        const testing::TemporaryFolder folder;
        const auto layout = small_layout();
        const std::filesystem::path file = folder.path() / "m";
        const auto refused = [&](const char* reason) {
            CHECK_THROWS_WITH_AS(read_model(file, layout), doctest::Contains(reason), ConfigError);
        };
        refused("cannot be read");
        std::ofstream(file) << "abc";
        refused("shorter than 8 bytes");
        std::ofstream(file) << "\xff\xff\xff\xff\xff\xff\xff\x7f{}";
        refused("its header claims");
        write_raw(file, "[1, 2]", 0);
        refused("not a JSON object");
        write_raw(file, "{}", 0);
        refused("tensor 'fc.weight' of the model is missing");
        const std::string bias = R"("fc.bias":{"dtype":"F32","shape":[2],"data_offsets":[24,32]})";
        write_raw(file, R"({"fc.weight":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},)" + bias + "}", 32);
        refused("tensor 'fc.weight' is \"F32\" [3,2], the model wants \"F32\" [2,3]");
        write_raw(file, R"({"fc.weight":{"dtype":"F16","shape":[2,3],"data_offsets":[0,24]},)" + bias + "}", 32);
        refused("is \"F16\"");
        write_raw(file, R"({"fc.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)" + bias + "}", 31);
        refused("tensor 'fc.bias': its data_offsets do not lie in the file");
        write_raw(file, R"({"fc.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[18446744073709551608,16]},)" + bias + "}",
                  32);
        refused("data_offsets");
        write_raw(
            file,
            R"({"more":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"fc.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)" +
                bias + "}",
            32);
        refused("holds 3 tensors, the model has 2");
        write_raw(file, R"({"fc.weight":5,)" + bias + "}", 32);
        refused("lacks dtype");
        write_raw(file, R"({"fc.weight":{"dtype":3,"shape":"x","data_offsets":"y"},)" + bias + "}", 32);
        refused("is 3 \"x\"");
        for (const char* offsets : {"\"y\"", "[0]", "[-8,16]", "[0,24.5]", "[24,0]"}) {
            write_raw(file,
                      fmt::format(R"({{"fc.weight":{{"dtype":"F32","shape":[2,3],"data_offsets":{}}},{}}})", offsets, bias),
                      32);
            refused("data_offsets do not lie in the file");
        }
    }

    TEST_CASE("HashLeavesPaddingOut") {
        const auto layout = small_layout();
        auto model = small_model(layout);
        const std::string before = model_sha256(layout, model);
        model[layout.entries()[0].size] = 9.0F;  // the first float of padding
        CHECK(model_sha256(layout, model) == before);
        model[0] = 9.0F;
        CHECK(model_sha256(layout, model) != before);
        CHECK(before.size() == 64);
    }

    TEST_CASE("FolderThatIsMissingIsAFaultWithThePath") {
        CHECK_THROWS_WITH_AS(write_file("/nowhere/file", "x"), doctest::Contains("/nowhere/file"), Fault);
    }
}
