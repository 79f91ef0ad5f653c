#include "clients/data/formats/cifar.h"

#include "aggregation/base/error.h"
#include "clients/data/data_format.h"
#include "tests/conformance/dataset_conformance.h"
#include "tests/support/golden_messages.h"
#include "tests/support/places.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

namespace fedhive::clients {

namespace {

using testing::TemporaryFolder;

constexpr std::size_t kPixels = 3 * 32 * 32;

void put(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
    std::ofstream(folder.path() / name, std::ios::binary) << bytes;
}

/// Records with recognisable contents: plane p of example i has the value first + 16 * i + p.
std::string records(const std::vector<std::vector<int>>& labels, std::size_t first = 0) {
    std::string bytes;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        for (const int label : labels[i]) bytes += static_cast<char>(label);
        for (std::size_t plane = 0; plane < 3; ++plane)
            bytes += std::string(kPixels / 3, static_cast<char>(first + 16 * i + plane));
    }
    return bytes;
}

/// CIFAR-10 files with two examples each.
struct TenClasses {
    TenClasses() {
        for (int batch = 1; batch <= 5; ++batch)
            put(folder, "data_batch_" + std::to_string(batch) + ".bin", records({{batch}, {9}}));
        put(folder, "test_batch.bin", records({{0}, {7}}, 100));
    }
    Dataset read() const { return data_format("cifar10").read({{"root", folder.path()}}, 0, TargetKind::Class); }
    std::string error() const {
        try {
            read();
        } catch (const ConfigError& error) {
            return error.what();
        }
        return "";
    }
    TemporaryFolder folder;
};

Dataset read_100(const std::filesystem::path& root, const char* labels) {
    return data_format("cifar100").read({{"root", root}, {"labels", labels}}, 0, TargetKind::Class);
}

}  // namespace

TEST_SUITE("Cifar") {
    TEST_CASE("FilesAreReadInOrder") {
        const TenClasses ten;
        conformance::check_repeatable([&] { return ten.read(); });
        const Dataset read = ten.read();
        CHECK(data_format("cifar10").shape({}, TargetKind::Class).example == read.train.shape);
        CHECK(data_format("cifar10").shape({}, TargetKind::Class).num_classes == read.num_classes);
        CHECK(read.num_classes == 10);
        CHECK(read.train.shape == ExampleShape{3, 32, 32});
        CHECK(read.train.labels == std::vector<std::int32_t>{1, 9, 2, 9, 3, 9, 4, 9, 5, 9});
        CHECK(read.test.labels == std::vector<std::int32_t>{0, 7});
        CHECK(read.train.values[0] == 0);
        CHECK(read.train.values[kPixels / 3] == 1);                 // green
        CHECK(read.train.values[kPixels + 2 * kPixels / 3] == 18);  // blue, second example
    }

    TEST_CASE("ClassesOfAHundredAreFineOrCoarse") {
        const TemporaryFolder folder;
        put(folder, "train.bin", records({{19, 99}, {0, 3}}));
        put(folder, "test.bin", records({{4, 30}}));
        const Dataset fine = read_100(folder.path(), "fine"), coarse = read_100(folder.path(), "coarse");
        CHECK(fine.num_classes == 100);
        for (const char* labels : {"fine", "coarse"}) {
            const DataShape shape = data_format("cifar100").shape({{"labels", labels}}, TargetKind::Class);
            CHECK(shape.example == fine.train.shape);
            CHECK(shape.num_classes == read_100(folder.path(), labels).num_classes);
        }
        CHECK(fine.train.labels == std::vector<std::int32_t>{99, 3});
        CHECK(coarse.num_classes == 20);
        CHECK(coarse.train.labels == std::vector<std::int32_t>{19, 0});
        CHECK(fine.train.values == coarse.train.values);
        put(folder, "test.bin", records({{20, 30}}));
        CHECK_NOTHROW(read_100(folder.path(), "fine"));
        CHECK_THROWS_WITH_AS(read_100(folder.path(), "coarse"),
                             doctest::Contains("test.bin: example 0 has the label 20; allowed: 0 to 19"), ConfigError);
    }

    TEST_CASE("WhatIsWrongIsToldWithTheFile") {
        const TenClasses ten;
        const std::string root = ten.folder.path().string();
        put(ten.folder, "data_batch_3.bin", records({{1}}) + "x");
        CHECK_MESSAGE_IS("data", "", ten.error());
        put(ten.folder, "data_batch_3.bin", "");
        CHECK(ten.error().starts_with(root + "/data_batch_3.bin: has 0 bytes"));
        put(ten.folder, "data_batch_3.bin", records({{1}, {10}}));
        CHECK(ten.error().starts_with(root + "/data_batch_3.bin: example 1 has the label 10; allowed: 0 to 9; "));
        std::filesystem::remove(ten.folder.path() / "data_batch_3.bin");
        CHECK_MESSAGE_IS("data", "", ten.error());
        CHECK_THROWN_MESSAGE("data", "/none:", ConfigError, read_100(ten.folder.path() / "none", "fine"));
        CHECK_THROWN_MESSAGE("data", "fedhive data cifar100", ConfigError, read_100(ten.folder.path(), "fine"));
    }

    TEST_CASE("RealFilesHoldTheKnownCounts") {
        const char* data = std::getenv("FEDHIVE_DATA");
        auto root =
            (data != nullptr ? std::filesystem::path(data) : testing::source_folder() / "data") / "cifar-10-batches-bin";
        if (!std::filesystem::exists(root)) root = testing::source_folder() / "data/cifar-10-batches-bin";
        if (!std::filesystem::exists(root))
            FEDHIVE_SKIP("no CIFAR-10 in " + root.string() + "; scripts/data cifar10 fetches it");
        const Dataset read = data_format("cifar10").read({{"root", root}}, 0, TargetKind::Class);
        conformance::check_dataset(read);
        CHECK(read.train.size() == 50000);
        CHECK(read.test.size() == 10000);
        std::array<int, 10> train{}, test{};
        for (const std::int32_t label : read.train.labels) ++train.at(static_cast<std::size_t>(label));
        for (const std::int32_t label : read.test.labels) ++test.at(static_cast<std::size_t>(label));
        CHECK(std::all_of(train.begin(), train.end(), [](int count) { return count == 5000; }));
        CHECK(std::all_of(test.begin(), test.end(), [](int count) { return count == 1000; }));
    }
}

}  // namespace fedhive::clients
