// Targets that are numbers, or a class per position: read by the formats that support them, gathered, and
// stored in the shared segment.
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/batches.h"
#include "clients/data/formats/csv.h"
#include "clients/data/formats/npz.h"
#include "clients/data/formats/text.h"
#include "clients/data/partitions/schemes.h"
#include "clients/data/shared_dataset.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/support/golden_messages.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace fedhive::clients {

namespace {

constexpr TargetShape kPairs{TargetKind::Numbers, 2};

/// Archives of three training examples of two features and one test example, with these targets.
struct Archives {
    testing::TemporaryFolder folder;
    NpzFiles files{folder.path() / "train.npz", folder.path() / "test.npz"};

    Archives(TargetKind targets, const std::string& train, const std::string& test) {
        files.targets = targets;
        write_npz(files.train, {{"x", npy("<f4", "(3, 2)", raw<float>({1, 2, 3, 4, 5, 6}))}, {"y", train}});
        write_npz(files.test, {{"x", npy("<f4", "(1, 2)", raw<float>({7, 8}))}, {"y", test}});
    }
    Dataset read(std::int64_t num_classes = 0) const { return read_npz(files, num_classes); }
    void refused(const std::string& text) const { CHECK_THROWS_WITH_AS(read(), doctest::Contains(text.c_str()), ConfigError); }
};

std::string pairs(const std::vector<double>& numbers) { return npy("<f8", "(3, 2)", raw(numbers)); }

/// Three examples of one value each, with two numbers or two labels.
Examples three(TargetKind kind) {
    Examples part{{1, 1, 1}, {10, 20, 30}, {}};
    part.target = {kind, 2};
    if (kind == TargetKind::Numbers)
        part.numbers = {0.5F, 1.5F, 2.5F, 3.5F, 4.5F, 5.5F};
    else
        part.labels = {0, 1, 2, 3, 4, 5};
    return part;
}

}  // namespace

TEST_SUITE("Targets") {
    TEST_CASE("NumbersOfAnArchiveAreRoundedAndKeepTheirShape") {
        const Archives archives(TargetKind::Numbers, pairs({0.1, -2, 3, 4, 5, 6}), npy("<f8", "(1, 2)", raw<double>({7, 8})));
        const Dataset dataset = archives.read();
        CHECK(dataset.train.target == kPairs);
        CHECK(dataset.train.numbers == std::vector<float>{0.1F, -2, 3, 4, 5, 6});
        CHECK(dataset.train.size() == 3);
        CHECK(dataset.train.labels.empty());
        CHECK(dataset.num_classes == 0);
        CHECK(dataset.rounded);
        const Archives single(TargetKind::Numbers, npy("<f4", "(3,)", raw<float>({1, 2, 3})),
                              npy("<f4", "(1,)", raw<float>({4})));
        CHECK(single.read().train.target == TargetShape{TargetKind::Numbers, 1});
    }

    TEST_CASE("TargetsArePartOfTheFingerprint") {
        const std::string test = npy("<f8", "(1, 2)", raw<double>({7, 8}));
        const Archives one(TargetKind::Numbers, pairs({1, 2, 3, 4, 5, 6}), test),
            other(TargetKind::Numbers, pairs({1, 2, 3, 4, 5, 7}), test);
        CHECK(one.read().fingerprint() != other.read().fingerprint());
    }

    TEST_CASE("NumbersThatAreNoneAreRefused") {
        const std::string test = npy("<f4", "(1,)", raw<float>({4}));
        const auto train = [&](const std::string& y) { return Archives(TargetKind::Numbers, y, test); };
        train(npy("<i4", "(3,)", raw<std::int32_t>({1, 2, 3}))).refused("y: has the dtype <i4; expected: float32 or float64");
        train(npy("<f4", "(3,)", raw<float>({1, NAN, 3}))).refused("y: y[1] is nan; expected: finite numbers");
        train(npy("<f8", "(3,)", raw<double>({1, 2, 1e300}))).refused("y: y[2] is 1e+300, which");
        train(npy("<f4", "(2,)", raw<float>({1, 2}))).refused("y: has 2 values, but x has 3 examples");
        train(npy("<f4", "(3, 0)", "")).refused("y: has the shape (3, 0); expected: 1 to");
        train(npy("<f4", "(3, 1, 1)", raw<float>({1, 2, 3})))
            .refused("y: has the shape (3, 1, 1); expected: (3,) or (3, numbers)");
        train(npy("<f4", "(3, 2)", raw<float>({1, 2, 3, 4, 5, 6}))).refused("y: has 1 per example, but the");
        Archives classes(TargetKind::Class, npy("<f4", "(3,)", raw<float>({1, 2, 3})), test);
        classes.refused("y: has the dtype <f4; expected: integers; ");
    }

    TEST_CASE("ClassesAtEachPositionOfAnArchive") {
        const std::string test = npy("<i8", "(1, 2)", raw<std::int64_t>({1, 1}));
        const Archives archives(TargetKind::ClassEach, npy("<i8", "(3, 2)", raw<std::int64_t>({0, 1, 2, 3, 0, 0})), test);
        const Dataset dataset = archives.read();
        CHECK(dataset.train.target == TargetShape{TargetKind::ClassEach, 2});
        CHECK(dataset.train.labels == std::vector<std::int32_t>{0, 1, 2, 3, 0, 0});
        CHECK(dataset.train.size() == 3);
        CHECK(dataset.num_classes == 4);
        CHECK_THROWS_WITH_AS(archives.read(3),
                             doctest::Contains("y[1, 1] is 3; allowed: 0 to 2; set data.classes to at least 4"), ConfigError);
        Archives below(TargetKind::ClassEach, npy("<i8", "(3, 2)", raw<std::int64_t>({0, 1, -2, 3, 0, 0})), test);
        below.refused("y: y[1, 0] is -2; expected: classes from 0");
        const Archives last(TargetKind::ClassEach, npy("<i8", "(3,)", raw<std::int64_t>({0, 1, 2})),
                            npy("<i8", "(1,)", raw<std::int64_t>({1})));
        CHECK(last.read().train.target == TargetShape{});
    }

    TEST_CASE("ColumnsOfATableAreNumbers") {
        const testing::TemporaryFolder folder;
        const auto table = folder.path() / "table.csv";
        write_content(table, "low,a,high\n0.5,1,-2\n1e3,2,4\n");
        const Values values = completed({{"train", table}, {"test", table}, {"target", "low, high"}}, data_format("csv").keys);
        const Dataset dataset = data_format("csv").read(values, 1, TargetKind::Numbers);
        CHECK(dataset.train.target == kPairs);
        CHECK(dataset.train.numbers == std::vector<float>{0.5F, -2, 1000, 4});
        CHECK(dataset.train.shape == ExampleShape{1, 1, 1});
        CHECK(dataset.num_classes == 0);
        CHECK(data_format("csv").shape(values, TargetKind::Numbers).target == kPairs);
        CHECK_THROWN_MESSAGE("data", "", ConfigError, data_format("csv").read(values, 1, TargetKind::Class));
        Values twice = values;
        twice.set("target", "low,low");
        CHECK_THROWS_WITH_AS(data_format("csv").read(twice, 1, TargetKind::Numbers),
                             doctest::Contains("expected: columns, each once"), ConfigError);
        write_content(table, "low,a,high\n0.5,1,x\n");
        CHECK_THROWS_WITH_AS(data_format("csv").read(values, 1, TargetKind::Numbers),
                             doctest::Contains("column 'high': is 'x'"), ConfigError);
    }

    TEST_CASE("NumbersHaveNoClasses") {
        const testing::TemporaryFolder folder;
        write_content(folder.path() / "table.csv", "y,a\n0.5,1\n");
        write_npz(folder.path() / "archive.npz",
                  {{"x", npy("<f4", "(1, 2)", raw<float>({1, 2}))}, {"y", npy("<f4", "(1,)", raw<float>({3}))}});
        for (const auto& [format, file] : {std::pair("csv", "table.csv"), std::pair("npz", "archive.npz")}) {
            CAPTURE(format);
            const auto path = folder.path() / file;
            const DataFormat& of = data_format(format);
            Values given{{"train", path}, {"test", path}};
            if (of.name == "csv") given.set("target", "y");
            CHECK_NOTHROW(of.read(completed(given, of.keys), 1, TargetKind::Numbers));
            given.set("classes", std::int64_t{3});
            const Values values = completed(given, of.keys);
            CHECK_THROWS_WITH_AS(of.read(values, 1, TargetKind::Numbers), doctest::Contains("classes is 3, but"), ConfigError);
            CHECK_THROWS_WITH_AS(of.shape(values, TargetKind::Numbers), doctest::Contains("classes is 3, but"), ConfigError);
        }
    }

    TEST_CASE("EveryCharacterIsFollowedByTheNext") {
        const testing::TemporaryFolder folder;
        const TextFile text{
            .file = folder.path() / "play.txt", .sequence = 3, .step = 2, .test_share = 0.4, .block = 10, .every = true};
        write_content(text.file, "abcdefdcba");
        const Dataset dataset = read_text(text);  // "abcdef" and "dcba"
        CHECK(dataset.train.target == TargetShape{TargetKind::ClassEach, 3});
        CHECK(dataset.train.values == std::vector<std::uint8_t>{0, 1, 2, 2, 3, 4});
        CHECK(dataset.train.labels == std::vector<std::int32_t>{1, 2, 3, 3, 4, 5});
        CHECK(dataset.test.labels == std::vector<std::int32_t>{2, 1, 0});
        CHECK(dataset.train.size() == 2);
    }

    TEST_CASE("DrawnNumbersAreLinearInTheirFeatures") {
        const DataFormat& format = data_format("synthetic_linear");
        const auto draw = [&](double noise, std::uint64_t seed) {
            return format.read(
                completed({{"num_train", std::int64_t{20000}}, {"num_features", std::int64_t{1}}, {"noise", noise}},
                          format.keys),
                seed, TargetKind::Numbers);
        };
        const Dataset exact = draw(0.0, 3), noisy = draw(0.5, 3);
        CHECK(exact.fingerprint() == draw(0.0, 3).fingerprint());
        CHECK(exact.fingerprint() != draw(0.0, 4).fingerprint());
        const auto x = [&](const Dataset& from, std::size_t i) {
            float value = 0.0F;
            std::memcpy(&value, &from.train.values[i * sizeof value], sizeof value);
            return static_cast<double>(value);
        };
        const double slope = (exact.train.numbers[1] - exact.train.numbers[0]) / (x(exact, 1) - x(exact, 0));
        double most = 0.0;
        std::vector<double> features, noise;
        const double origin = exact.train.numbers[0] - slope * x(exact, 0);
        for (std::size_t i = 0; i < 20000; ++i) {
            most = std::max(most, std::abs(exact.train.numbers[i] - (origin + slope * x(exact, i))));
            features.push_back(x(noisy, i));
            noise.push_back(noisy.train.numbers[i] - (origin + slope * features.back()));
        }
        CHECK(most < 1e-4);
        const double bound = testing::kolmogorov_bound(features.size());
        CHECK(testing::distance_from_normal(features, 0.0, 1.0) < bound);
        CHECK(testing::distance_from_normal(noise, 0.0, 0.5) < bound);
        CHECK(testing::distance_from_normal(noise, 0.0, 0.55) > bound);
    }

    TEST_CASE("SegmentKeepsTargetsApart") {
        for (const TargetKind kind : {TargetKind::Numbers, TargetKind::ClassEach}) {
            Dataset dataset{three(kind), three(kind), kind == TargetKind::Numbers ? 0 : 6};
            for (Examples* part : {&dataset.train, &dataset.test}) {  // targets span several cache lines
                part->target.width = 20;
                if (kind == TargetKind::Numbers)
                    part->numbers.resize(60, 0.25F);
                else
                    part->labels.resize(60, 5);
            }
            const SharedDataset shared = SharedDataset::create(dataset, partition_contiguous(3, 1));
            const SharedDataset opened = SharedDataset::open(shared.descriptor(), shared.map());
            for (const ExamplesView& part : {opened.train(), opened.test()}) {
                CHECK(part.target == TargetShape{kind, 20});
                CHECK(part.size() == 3);
                CHECK(std::ranges::equal(part.labels, dataset.train.labels));
                CHECK(std::ranges::equal(part.numbers, dataset.train.numbers));
                CHECK(std::ranges::equal(part.values, dataset.train.values));
            }
            CHECK(std::ranges::equal(opened.shard(0), std::vector<std::uint32_t>{0, 1, 2}));
        }
    }

    TEST_CASE("GatheredTargetsAreThoseOfTheirExamples") {
        const std::vector<std::uint32_t> order{2, 0};
        std::vector<float> values(2), numbers(5, -99.0F);
        std::vector<std::int64_t> labels(5, -99);
        const BatchGather gather({1, 1, 1}, {});
        for (const TargetKind kind : {TargetKind::Numbers, TargetKind::ClassEach}) {
            const Examples part = three(kind);
            const ExamplesView view{part.shape, part.values, part.labels, aggregation::MemorySpace::Host,
                                    part.type,  part.target, part.numbers};
            if (kind == TargetKind::Numbers) {
                gather.gather(view, order, values.data(), {.numbers = numbers.data()});
                CHECK(numbers == std::vector<float>{4.5F, 5.5F, 0.5F, 1.5F, -99.0F});
                CHECK_THROWS_AS(gather.gather(view, order, values.data(), {.labels = labels.data()}), Fault);
            } else {
                gather.gather(view, order, values.data(), {.labels = labels.data()});
                CHECK(labels == std::vector<std::int64_t>{4, 5, 0, 1, -99});
                CHECK_THROWS_AS(gather.gather(view, order, values.data(), {.numbers = numbers.data()}), Fault);
            }
            // One value per example and more targets than values, by the kernel's per-thread function.
            std::vector<float> found_values(2), found_numbers(5, -99.0F);
            std::vector<std::int64_t> found_labels(5, -99);
            element::GatherTerms terms{part.values.data(),
                                       part.labels.data(),
                                       order.data(),
                                       nullptr,
                                       gather.scale(part.type).data(),
                                       gather.shift().data(),
                                       1,
                                       1,
                                       part.type};
            terms.numbers = kind == TargetKind::Numbers ? part.numbers.data() : nullptr;
            terms.target_width = 2;
            for (std::size_t row = 0; row < 2; ++row)
                element::gather(terms, row, 0, found_values.data(), {found_labels.data(), found_numbers.data()});
            CHECK(found_values == values);
            if (kind == TargetKind::Numbers)
                CHECK(found_numbers == numbers);
            else
                CHECK(found_labels == labels);
        }
    }

    TEST_CASE("ExamplesWithoutAClassAreDealtByTheirNumber") {
        const PartitionScheme& iid = partition_scheme("iid");
        const Deal deal{{}, 0, 3, 1, {}, 10};
        const Partition partition = iid.deal(deal, completed({}, iid.keys));
        CHECK(partition.indices.size() == 10);
        CHECK(partition.num_clients() == 3);
        const Examples part = three(TargetKind::Numbers);
        const ExamplesView view{part.shape, part.values, part.labels, aggregation::MemorySpace::Host,
                                part.type,  part.target, part.numbers};
        CHECK(label_counts(partition.shard(0), view, 0).empty());
    }
}

}  // namespace fedhive::clients
