#include "sim/state/state_file.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "tests/sim/state/state_files.h"
#include "tests/support/golden_messages.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// Tensors of several types and shapes; the bytes of each are a part of `bytes`.
struct Sample {
    std::string bytes = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::vector<Tensor> tensors;

    Sample() {
        const std::string_view all = bytes;
        tensors = {{"weights", "F32", {2, 3}, all.substr(0, 24)}, {"scalar", "I64", {}, all.substr(24, 8)},
                   {"empty", "F64", {4, 0}, all.substr(0, 0)},    {"größe/重み", "U8", {3}, all.substr(5, 3)},
                   {"", "BOOL", {1, 1}, all.substr(9, 1)},        {"of tomorrow", "U24", {2}, all.substr(10, 6)}};
    }
};

void check_equal(std::span<const Tensor> found, std::span<const Tensor> wanted) {
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        CAPTURE(wanted[i].name);
        CHECK(found[i].name == wanted[i].name);
        CHECK(found[i].dtype == wanted[i].dtype);
        CHECK(found[i].shape == wanted[i].shape);
        CHECK(found[i].data == wanted[i].data);
    }
}

}  // namespace

TEST_SUITE("StateFile") {
    TEST_CASE("WhatIsEncodedIsDecodedBitForBit") {
        const Sample sample;
        const std::map<std::string, std::string> metadata{{"format", "pt"}, {"größe", "\"1\"\n"}, {"", ""}};
        const std::string content = encode_state(sample.tensors, metadata);
        const StateFile state = decode_state(content, "here");
        CHECK(state.metadata == metadata);
        check_equal(state.tensors, sample.tensors);
        CHECK(encode_state(state.tensors, state.metadata) == content);
    }

    TEST_CASE("NothingAtAllIsAFile") {
        const StateFile state = decode_state(encode_state({}, {}), "here");
        CHECK(state.tensors.empty());
        CHECK(state.metadata.empty());
        CHECK(*state.content == file_of("{}      ", 0));
    }

    TEST_CASE("HeaderIsPaddedSoThatDataAreAligned") {
        const Sample sample;
        for (std::size_t length = 0; length < 9; ++length) {
            const std::string content = encode_state(sample.tensors, {{"padding", std::string(length, 'x')}});
            CHECK(static_cast<unsigned char>(content[0]) % 8 == 0);
            CHECK(decode_state(content, "here").tensors.front().data == sample.tensors.front().data);
        }
    }

    TEST_CASE("ViewsOutliveMovesAndCopies") {
        StateFile first = decode_state(file_of(header_of({tensor_entry("a", "U8", "[1]", "[0,1]")}), 1), "here");
        const char* where = first.tensors[0].data.data();
        const StateFile moved = std::move(first);
        const StateFile copy = moved;  // NOLINT(performance-unnecessary-copy-initialization): the copy is under test
        CHECK(moved.tensors[0].data.data() == where);
        CHECK(copy.tensors[0].data == "\x01");
        CHECK(where >= copy.content->data());
        CHECK(where < copy.content->data() + copy.content->size());
    }

    TEST_CASE("FindGivesTheTensorOfThatNameOrNone") {
        const Sample sample;
        const StateFile state = decode_state(encode_state(sample.tensors, {}), "here");
        REQUIRE(state.find("scalar") != nullptr);
        CHECK(state.find("scalar")->data == sample.tensors[1].data);
        CHECK(state.find("scala") == nullptr);
    }

    TEST_CASE("OrderOfTheHeaderDoesNotMatterButThatOfTheData") {
        const std::string header =
            header_of({tensor_entry("late", "U8", "[2]", "[1,3]"), R"("__metadata__":{"k":"v"})",
                       tensor_entry("empty", "F32", "[0,7]", "[1,1]"), tensor_entry("early", "U8", "[]", "[0,1]")});
        const StateFile state = decode_state(file_of(header + "  \n\t", 3), "here");
        REQUIRE(state.tensors.size() == 3);
        CHECK(state.tensors[0].name == "early");
        CHECK(state.tensors[1].name == "empty");
        CHECK(state.tensors[2].name == "late");
        CHECK(state.tensors[2].data == "\x02\x03");
        CHECK(state.metadata.at("k") == "v");
    }

    TEST_CASE("EveryDtypeHasItsSize") {
        for (const auto& [bits, dtypes] : std::vector<std::pair<std::size_t, std::vector<const char*>>>{
                 {4, {"F4"}},
                 {6, {"F6_E2M3", "F6_E3M2"}},
                 {8, {"BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"}},
                 {16, {"U16", "I16", "F16", "BF16"}},
                 {32, {"U32", "I32", "F32"}},
                 {64, {"U64", "I64", "F64", "C64"}}})
            for (const char* dtype : dtypes) {
                CAPTURE(dtype);
                const auto read = [&, dtype = dtype, bits = bits](const char* shape) {
                    const std::string offsets = fmt::format("[0,{}]", bits / 2);
                    return decode_state(file_of(header_of({tensor_entry("a", dtype, shape, offsets)}), bits / 2), "here");
                };
                CHECK(read("[4]").tensors[0].data.size() == bits / 2);
                CHECK_THROWS_WITH_AS(read("[5]"), doctest::Contains("does not match"), ConfigError);
            }
    }

    TEST_CASE("WhatCannotBeReadBackIsNotWritten") {
        const auto fault = [](const Tensor& tensor, const char* reason) {
            CHECK_THROWS_WITH_AS(encode_state(std::vector{tensor}, {}), doctest::Contains(reason), Fault);
        };
        fault({"a", "F32", {2}, "1234"}, "tensor 'a' is F32 [2], which does not match its 4 bytes");
        fault({"__metadata__", "U8", {}, "1"}, "__metadata__");
        fault({"\xff", "U8", {}, "1"}, "is not UTF-8");
        fault({"a", "\xff", {}, "1"}, "is not UTF-8");
        const Tensor good{"a", "U8", {}, "1"};
        CHECK_THROWS_WITH_AS(encode_state(std::vector{good, good}, {}), doctest::Contains("two tensors have the name 'a'"),
                             Fault);
        CHECK_THROWS_WITH_AS(encode_state(std::vector{good}, {{"k", "\xff"}}), doctest::Contains("is not UTF-8"), Fault);
        std::string long_text;
        long_text.resize(100'000'000, 'x');
        CHECK_THROWS_WITH_AS(encode_state({}, {{"k", long_text}}), doctest::Contains("a header of 1000000"), Fault);
    }

    TEST_CASE("FileOfAnotherKindIsCalledByItsName") {
        const auto refused = [](const std::string& beginning, const char* kind) {
            for (const std::size_t size : {beginning.size(), std::size_t{1000}}) {
                std::string content = beginning;
                content.resize(std::max(size, beginning.size()), 'x');
                CHECK_THROWS_WITH_AS(decode_state(content, "m.pt"), doctest::Contains(kind), ConfigError);
                CHECK_THROWS_WITH_AS(decode_state(content, "m.pt"), doctest::Contains("s.save_file(torch.load("), ConfigError);
            }
        };
        refused("PK\x03\x04", "m.pt: not a safetensors file: it is a zip file, as torch.save writes");
        for (const char* version : {"\x80\x02", "\x80\x03", "\x80\x04", "\x80\x05"})
            refused(version, "m.pt: not a safetensors file: it is a Python pickle");
        refused("\x89HDF\r\n", "it is an HDF5 file");
        refused("\x93NUMPY", "it is a NumPy file");
        // A header of 640 bytes begins like a pickle.
        const StateFile state = decode_state(file_of("{" + std::string(638, ' ') + "}", 0), "m");
        CHECK(state.content->starts_with("\x80\x02"));
    }

    TEST_CASE("FileWithHolesIsRefusedWithoutTheMemory") {
        const testing::TemporaryFolder folder;
        const std::filesystem::path file = folder.path() / "s.safetensors";
        const auto refused = [&](const char* problem) {
            std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
            CHECK_THROWS_WITH_AS(read_state(file), doctest::Contains(problem), ConfigError);
        };
        std::ofstream(file) << "";
        refused("its header is not a JSON object");
        const Sample sample;
        std::ofstream(file, std::ios::binary) << encode_state(sample.tensors, {{"a", "b"}});
        refused("bytes follow its last tensor");
        // The header promises the whole file: more than any memory here.
        const std::string header = header_of({tensor_entry("a", "U8", "[1099511627680]", "[0,1099511627680]")});
        std::ofstream(file, std::ios::binary) << file_of(header, 0);
        std::filesystem::resize_file(file, 8 + header.size() + 1099511627680);
        CHECK_THROWS_WITH_AS(read_state(file), doctest::Contains("allowed: at most"), FileError);
    }

    TEST_CASE("OpenFileIsReadTensorByTensorAndInParts") {
        const testing::TemporaryFolder folder;
        const std::filesystem::path file = folder.path() / "s.safetensors";
        const std::string large(3 * (std::size_t{1} << 20) + 5, 'x');
        Sample sample;
        sample.tensors.push_back({"large", "U8", {large.size()}, large});
        const std::string content = encode_state(sample.tensors, {{"a", "b"}});
        std::ofstream(file, std::ios::binary) << content;
        const OpenState state(file);
        std::filesystem::remove(file);  // it stays open
        CHECK(state.metadata().at("a") == "b");
        REQUIRE(state.tensors().size() == sample.tensors.size());
        for (const Tensor& wanted : sample.tensors) {
            const TensorPlace* found = state.find(wanted.name);
            REQUIRE(found != nullptr);
            CHECK(type_and_shape(found->dtype, found->shape) == type_and_shape(wanted.dtype, wanted.shape));
            std::string bytes(found->bytes, '\0');
            state.read(*found, std::as_writable_bytes(std::span(bytes)));
            CHECK((bytes == wanted.data));
        }
        CHECK(state.find("nobody") == nullptr);
        std::string whole = state.head();
        std::size_t parts = 0, longest = 0;
        state.read_data([&](std::string_view part) {
            whole += part;
            longest = std::max(longest, part.size());
            ++parts;
        });
        CHECK((whole == content));
        CHECK(parts == 4);
        CHECK(longest == std::size_t{1} << 20);
    }

    TEST_CASE("OpenFileThatBreaksOffIsNamed") {
        const testing::TemporaryFolder folder;
        const std::filesystem::path file = folder.path() / "s.safetensors";
        std::ofstream(file, std::ios::binary) << encode_state(Sample().tensors, {});
        const OpenState state(file);
        std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
        std::string last(state.tensors().back().bytes, '\0');
        CHECK_THROWN_MESSAGE("state", "", ConfigError,
                             state.read(state.tensors().back(), std::as_writable_bytes(std::span(last))));
        CHECK_THROWS_AS(state.read_data([](std::string_view) {}), ConfigError);
        CHECK_THROWN_MESSAGE("state", "", ConfigError, OpenState{file});
    }

    TEST_CASE("FileIsReadOrRefusedWithItsPath") {
        const testing::TemporaryFolder folder;
        const std::filesystem::path file = folder.path() / "s.safetensors";
        const auto refused = [](const std::filesystem::path& path, const std::string& reason) {
            CHECK_THROWS_WITH_AS(read_state(path), doctest::Contains((path.string() + ": " + reason).c_str()), ConfigError);
            CHECK_THROWS_WITH_AS(OpenState{path}, doctest::Contains((path.string() + ": " + reason).c_str()), ConfigError);
        };
        refused(file, "no such file");
        refused(folder.path(), "is a folder");
        REQUIRE(mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
        refused(folder.path() / "pipe", "is not a regular file but a pipe");
        refused("/dev/zero", "is not a regular file but a device");
        std::ofstream(file) << "abc";
        refused(file, "not a safetensors file: shorter than 8 bytes");
        const Sample sample;
        std::ofstream(file, std::ios::binary) << encode_state(sample.tensors, {{"a", "b"}});
        const StateFile state = read_state(file);
        check_equal(state.tensors, sample.tensors);
        CHECK(state.metadata.at("a") == "b");
    }
}
