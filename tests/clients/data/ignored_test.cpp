// Targets of -100: read, counted, and not counted as a class.
#include "clients/data/ignored.h"

#include "aggregation/base/error.h"
#include "clients/data/formats/csv.h"
#include "clients/data/formats/npz.h"
#include "clients/data/partition.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

namespace fedhive::clients {

namespace {

/// An archive of three examples of two features, with these targets.
std::filesystem::path archive(const testing::TemporaryFolder& folder, const std::string& y) {
    const auto path = folder.path() / "file.npz";
    write_npz(path, {{"x", npy("<f4", "(3, 2)", raw<float>({1, 2, 3, 4, 5, 6}))}, {"y", y}});
    return path;
}

std::string refusal_of(TargetKind kind, const std::string& y) {
    const testing::TemporaryFolder folder;
    const auto path = archive(folder, y);
    try {
        read_npz({path, path, false, 0, kind});
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "read";
}

std::string of_two(const std::vector<std::int64_t>& y) { return npy("<i8", "(3, 2)", raw(y)); }
std::string of_one(const std::vector<std::int64_t>& y) { return npy("<i8", "(3,)", raw(y)); }

}  // namespace

TEST_SUITE("Ignored") {
    TEST_CASE("TargetsOfAnArchiveMayBeIgnoredAndAreNoClasses") {
        const testing::TemporaryFolder folder;
        const auto path = archive(folder, of_two({0, kIgnored, 4, 1, kIgnored, kIgnored}));
        Dataset dataset = read_npz({path, path, false, 0, TargetKind::ClassEach});
        CHECK(dataset.train.labels == std::vector<std::int32_t>{0, -100, 4, 1, -100, -100});
        CHECK(dataset.num_classes == 5);
        const std::uint64_t unmarked = dataset.fingerprint();
        mark_ignored(dataset);
        CHECK(dataset.train.target == TargetShape{TargetKind::ClassEach, 2, true});
        CHECK(dataset.test.target.ignores);
        CHECK(dataset.fingerprint() == unmarked);  // follows from the labels

        const ExamplesView view{.shape = dataset.train.shape,
                                .values = dataset.train.values,
                                .labels = dataset.train.labels,
                                .type = dataset.train.type,
                                .target = dataset.train.target};
        const CountedTargets counted = CountedTargets::of(view);
        CHECK(counted.examples_in(std::vector<std::uint32_t>{0, 1, 2}) == 1.5);
        CHECK(counted.examples_in(std::vector<std::uint32_t>{1, 0, 1}) == 2.5);
        CHECK(counted.examples_in(std::vector<std::uint32_t>{2}) == 0.0);
    }

    TEST_CASE("WithoutIgnoredTargetsEveryExampleCountsWhole") {
        const testing::TemporaryFolder folder;
        const auto path = archive(folder, of_one({0, 2, 1}));
        Dataset dataset = read_npz({path, path});
        mark_ignored(dataset);
        CHECK(dataset.train.target == TargetShape{});
        CHECK(CountedTargets{}.examples_in(std::vector<std::uint32_t>{2, 0}) == 2.0);
    }

    TEST_CASE("PartWithoutACountedTargetIsRefused") {
        Dataset dataset{.train = {{1, 1, 1}, {1, 2}, {0, kIgnored}}, .test = {{1, 1, 1}, {1, 2}, {kIgnored, kIgnored}}};
        CHECK_THROWN_MESSAGE("data", "", ConfigError, mark_ignored(dataset));
        std::swap(dataset.train, dataset.test);
        CHECK_THROWN_MESSAGE("data", "", ConfigError, mark_ignored(dataset));
    }

    TEST_CASE("HintsForOtherTargetsMakeNoClassOfWhatDoesNotCount") {
        CHECK_MESSAGE_IS("data", "", refusal_of(TargetKind::ClassEach, of_two({0, 1, -1, 2, 3, 3})));
        CHECK_MESSAGE_IS("data", "", refusal_of(TargetKind::ClassEach, of_two({0, 1, 7'000'000, 2, 3, 3})));
        CHECK_MESSAGE_IS("data", "", refusal_of(TargetKind::Class, of_one({1, kIgnored, -1})));
        CHECK(refusal_of(TargetKind::Class, of_one({1, kIgnored, 0})) == "read");
    }

    TEST_CASE("TablesHaveIgnoredTargetsToo") {
        const testing::TemporaryFolder folder;
        const CsvFiles files{folder.path() / "table.csv", folder.path() / "table.csv", {"y"}, "", true};
        write_content(files.train, "a,y\n1,0\n2,-100\n3,2\n");
        const Dataset dataset = read_csv_files(files);
        CHECK(dataset.train.labels == std::vector<std::int32_t>{0, -100, 2});
        CHECK(dataset.num_classes == 3);
        write_content(files.train, "a,y\n1,0\n2,-1\n");
        CHECK_THROWS_WITH_AS(read_csv_files(files), doctest::Contains("below 1000000, or -100 for an"), ConfigError);
    }

    TEST_CASE("LabelsAreCountedWithoutIgnoredOnes") {
        const std::vector<std::int32_t> labels{2, kIgnored, 0, 2};
        CHECK(label_counts(std::vector<std::uint32_t>{0, 1, 2, 3}, labels, 3) == std::vector<std::uint64_t>{1, 0, 2});
    }
}

}  // namespace fedhive::clients
