#include "sim/state/model_file.h"

#include "aggregation/base/error.h"
#include "sim/state/state_file.h"
#include "tests/support/golden_messages.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <numeric>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

aggregation::Layout model_layout() {
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

const std::string kBytes = "0123456789abcdefghijklmnopqrstuvwxyz";

/// A tensor over the first bytes of kBytes.
Tensor tensor(const std::string& name, const std::string& dtype, const std::vector<std::uint64_t>& shape) {
    std::uint64_t bytes = dtype == "U8" ? 1 : dtype == "F16" ? 2 : 4;
    for (const std::uint64_t dimension : shape) bytes *= dimension;
    return {name, dtype, shape, std::string_view(kBytes).substr(0, bytes)};
}

void write_tensors(const std::filesystem::path& file, const std::vector<Tensor>& tensors) {
    write_file(file, encode_state(tensors, {}));
}

}  // namespace

TEST_SUITE("ModelFile") {
    TEST_CASE("WrittenModelIsReadBackBitForBit") {
        const testing::TemporaryFolder folder;
        const auto layout = model_layout();
        const auto model = small_model(layout);
        write_model(folder.path() / "m.safetensors", {{layout, model}}, {{"round", "3"}});
        CHECK(read_model(folder.path() / "m.safetensors", layout) == model);
        CHECK_FALSE(std::filesystem::exists(folder.path() / "m.safetensors.part"));
    }

    TEST_CASE("HeaderFollowsTheSafetensorsFormat") {
        const testing::TemporaryFolder folder;
        const auto layout = model_layout();
        write_model(folder.path() / "m", {{layout, small_model(layout)}}, {});
        std::ifstream stream(folder.path() / "m", std::ios::binary);
        const std::string content((std::istreambuf_iterator<char>(stream)), {});
        std::uint64_t length = 0;
        std::memcpy(&length, content.data(), 8);
        CHECK(length % 8 == 0);
        CHECK(content.size() == 8 + length + 8 * sizeof(float));
        CHECK(content.find(R"("fc.bias":{"dtype":"F32","shape":[2],"data_offsets":[24,32]})") != std::string::npos);
    }

    TEST_CASE("OrderOfTheTensorsInTheFileDoesNotMatter") {
        const testing::TemporaryFolder folder;
        const auto layout = model_layout();
        const auto model = small_model(layout);
        write_tensors(folder.path() / "m", {tensor("fc.bias", "F32", {2}), tensor("fc.weight", "F32", {2, 3})});
        const auto read = read_model(folder.path() / "m", layout);
        const auto bytes = [&](std::size_t entry, std::size_t count) {
            return std::string(reinterpret_cast<const char*>(read.data() + layout.entries()[entry].offset), count);
        };
        CHECK(bytes(0, 24) == kBytes.substr(0, 24));
        CHECK(bytes(1, 8) == kBytes.substr(0, 8));
    }

    TEST_CASE("FileOfAnotherModelIsRefusedWithWhatBothHave") {
        const testing::TemporaryFolder folder;
        const auto layout = model_layout();
        const std::filesystem::path file = folder.path() / "m";
        const auto refused = [&](const std::vector<Tensor>& tensors, const std::string& reason) {
            write_tensors(file, tensors);
            CHECK_THROWN_MESSAGE("state", file.string() + ": " + reason, ConfigError, read_model(file, layout));
        };
        const Tensor weight = tensor("fc.weight", "F32", {2, 3}), bias = tensor("fc.bias", "F32", {2});
        refused({tensor("fc.weight", "F32", {3, 2}), bias}, "tensor 'fc.weight'");
        refused({tensor("fc.weight", "F32", {6}), bias}, "tensor 'fc.weight'");
        refused({tensor("fc.weight", "F16", {2, 3}), bias}, "tensor 'fc.weight'");
        refused({tensor("fc.weight", "I32", {2, 3}), bias}, "tensor 'fc.weight'");
        refused({weight, tensor("fc.bias", "F32", {})}, "tensor 'fc.bias'");
        refused({weight}, "has no tensor 'fc.bias', which");
        refused({}, "has no tensor 'fc.weight', 'fc.bias', which");
        refused({weight, tensor("fc3.bias", "F32", {2}), tensor("x", "U8", {})}, "has no tensor 'fc.bias', ");
        refused({weight, bias, tensor("x", "U8", {})}, "has the tensor 'x', which");
        std::vector<Tensor> many{weight, bias};
        for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) many.push_back(tensor(name, "U8", {}));
        refused(many, "has the tensor 'a', 'b', 'c', 'd', 'e' and 2 more, which");
    }

    TEST_CASE("CounterOfPytorchsBatchNormIsLeftOut") {
        const testing::TemporaryFolder folder;
        aggregation::Layout layout;
        layout.add("1.weight", {2});
        layout.add("1.running_mean", {2}, aggregation::TensorKind::Buffer);
        const std::vector<Tensor> both{tensor("1.weight", "F32", {2}), tensor("1.running_mean", "F32", {2})};
        const auto with = [&](const std::string& name) {
            std::vector<Tensor> tensors = both;
            tensors.push_back({name, "I64", {}, std::string_view(kBytes).substr(0, 8)});
            write_tensors(folder.path() / "m", tensors);
            return read_model(folder.path() / "m", layout);
        };
        const std::vector<float> counted = with("1.num_batches_tracked");
        write_tensors(folder.path() / "m", both);
        CHECK(counted == read_model(folder.path() / "m", layout));
        for (const char* other : {"2.num_batches_tracked", "num_batches_tracked", "1.num_batches"})
            CHECK_THROWS_WITH_AS(with(other), doctest::Contains(other), ConfigError);
    }

    TEST_CASE("FileThatIsNoneIsRefused") {
        const testing::TemporaryFolder folder;
        const std::filesystem::path file = folder.path() / "m";
        const auto refused = [&](const char* reason) {
            CHECK_THROWN_MESSAGE("state", reason, ConfigError, read_model(file, model_layout()));
        };
        refused("m: no such file");
        std::ofstream(file) << "abc";
        refused("m: not a safetensors file");
    }

    TEST_CASE("HashLeavesPaddingOut") {
        const auto layout = model_layout();
        auto model = small_model(layout);
        const std::string before = model_sha256(layout, model);
        model[layout.entries()[0].size] = 9.0F;  // the first float of padding
        CHECK(model_sha256(layout, model) == before);
        model[0] = 9.0F;
        CHECK(model_sha256(layout, model) != before);
        CHECK(before.size() == 64);
    }
}
