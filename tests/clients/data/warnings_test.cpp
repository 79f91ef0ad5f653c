#include "clients/data/data_warnings.h"

#include "clients/data/formats/csv.h"
#include "clients/data/formats/npz.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

#include <cstring>

namespace fedhive::clients {

namespace {

Examples floats_of(const ExampleShape& shape, const std::vector<float>& values) {
    Examples part{.shape = shape, .values = {}, .labels = {}, .type = ValueType::F32};
    part.values.resize(values.size() * sizeof(float));
    std::memcpy(part.values.data(), values.data(), part.values.size());
    part.labels.resize(values.size() / shape.num_values());
    return part;
}

Dataset labelled(std::vector<std::int32_t> train, std::vector<std::int32_t> test, std::int64_t classes) {
    Dataset dataset;
    dataset.train.labels = std::move(train);
    dataset.test.labels = std::move(test);
    dataset.num_classes = classes;
    return dataset;
}

std::string text_of(const std::vector<DataWarning>& warnings) {
    REQUIRE(warnings.size() == 1);
    return warnings.front().key + ": " + warnings.front().text;
}

bool turns(const ExampleShape& shape, ValueType type = ValueType::U8) {
    return !channels_last({.shape = shape, .values = {}, .labels = {}, .type = type}).empty();
}

}  // namespace

TEST_SUITE("DataWarnings") {
    TEST_CASE("ClassesThatNobodyShowsAreNamed") {
        CHECK(missing_classes(labelled({2, 0, 1}, {0}, 3)).empty());
        CHECK_MESSAGE_IS("data", "", text_of(missing_classes(labelled({1, 2, 1}, {1, 2}, 3))));
        CHECK_MESSAGE_IS("data", "", text_of(missing_classes(labelled({1, 2, 1}, {0, 2}, 3))));
        CHECK_MESSAGE_IS("data", "", text_of(missing_classes(labelled({0, 2}, {}, 3))));
        CHECK_MESSAGE_IS("data", "", text_of(missing_classes(labelled({0, 3}, {}, 5))));
        CHECK_MESSAGE_IS("data", "", text_of(missing_classes(labelled({0, 9}, {}, 10))));
    }

    TEST_CASE("TargetsThatDoNotCountShowNoClass") {
        CHECK(missing_classes(labelled({2, kIgnored, 0, 1, kIgnored}, {0}, 3)).empty());
        CHECK(text_of(missing_classes(labelled({2, kIgnored, 0}, {0}, 3))).find("no training example has label 1 of 3") !=
              std::string::npos);
    }

    TEST_CASE("NumbersPositionsAndTokensHaveNoMissingClasses") {
        Dataset numbers = labelled({}, {}, 0);
        numbers.train.target = {TargetKind::Numbers, 1};
        numbers.train.numbers = {1, 2};
        CHECK(missing_classes(numbers).empty());
        Dataset tokens = labelled({1, 2}, {1}, 3);
        tokens.train.shape.vocabulary = 3;
        CHECK(missing_classes(tokens).empty());
        Dataset each = labelled({1, 2}, {1}, 3);
        each.train.target = {TargetKind::ClassEach, 2};
        CHECK(missing_classes(each).empty());
    }

    TEST_CASE("ValuesFarFromOneAreToldByTheirChannel") {
        CHECK_MESSAGE_IS("data", "", text_of(large_values(floats_of({2, 1, 1}, {0, 0, 1, 300, 0, 600}))));
        CHECK_MESSAGE_IS("data", "", text_of(large_values(floats_of({1, 2, 2}, {0, 255, 0, 255, 255, 0, 255, 0}))));
        CHECK(text_of(large_values(floats_of({3, 2, 1}, {0, 1, 0, 1, 0, 90.5F, 0, 1, 0, 1, 0, 90.5F})))
                  .find("in channel 2 of 3") != std::string::npos);
    }

    TEST_CASE("ValuesNearOneFarFromZeroOrOfTokensAreAsTheyShouldBe") {
        CHECK(large_values(floats_of({1, 2, 2}, {0, 1, 0, 1, 1, 0, 1, 1})).empty());
        CHECK(large_values(floats_of({2, 1, 1}, {2000, -5, 2001, -4, 2002, -6})).empty());  // a year, and another column
        CHECK(large_values(floats_of({1, 1, 1}, {0, 40})).empty());                         // a deviation of 20
        Examples tokens = floats_of({2, 1, 1}, {0, 0, 1, 900});
        tokens.shape.vocabulary = 1000;
        CHECK(large_values(tokens).empty());
        Examples bytes{.shape = {2, 1, 1}, .values = {0, 255, 255, 0}, .labels = {0, 1}};
        CHECK(large_values(bytes).empty());
    }

    TEST_CASE("LargeDataAreSampledEvenly") {
        std::vector<float> values(std::size_t{1} << 20, 0.5F);
        for (std::size_t i = values.size() / 2; i < values.size(); ++i) values[i] = 100.5F;
        const std::string text = text_of(large_values(floats_of({1, 1, 4}, values)));
        CHECK_MESSAGE(text.find("deviation of 50, ") != std::string::npos, text);
    }

    TEST_CASE("ImagesWithTheirChannelsLastAreKnownByTheirSides") {
        for (const ExampleShape& shape : {ExampleShape{32, 32, 3}, {28, 28, 1}, {64, 64, 4}}) {
            CHECK(turns(shape));
            CHECK(turns(shape, ValueType::F32));
        }
        CHECK(turns({240, 320, 3}));
        CHECK_FALSE(turns({240, 320, 3}, ValueType::F32));
        // Valid images, also small ones, features in a row, ECGs of 12 leads, several bands.
        for (const ExampleShape& shape : {ExampleShape{3, 32, 32},
                                          {1, 28, 28},
                                          {1, 28, 1},
                                          {3, 3, 3},
                                          {4, 4, 4},
                                          {784, 1, 1},
                                          {12, 1000, 1},
                                          {8, 8, 8},
                                          {1, 16, 3}})
            CHECK_FALSE(turns(shape));
        CHECK(channels_last_advice({3, 32, 32}).empty());
        CHECK_MESSAGE_IS("data", "", channels_last_advice({32, 32, 3}));
    }

    TEST_CASE("ArchiveOfImagesWithTheirChannelsLastIsToldHowToTurnThem") {
        const testing::TemporaryFolder folder;
        const NpzFiles files{folder.path() / "train.npz", folder.path() / "test.npz"};
        for (const auto& file : {files.train, files.test})
            write_npz(file, {{"x", npy("|u1", "(2, 8, 8, 3)", std::string(2 * 8 * 8 * 3, '\1'))},
                             {"y", npy("<i4", "(2,)", raw(std::vector<std::int32_t>{0, 1}))}});
        CHECK_MESSAGE_IS("data", "", text_of(read_npz(files).warnings));
    }

    TEST_CASE("FirstColumnThatCountsRowsIsAnIndex") {
        const testing::TemporaryFolder folder;
        CsvFiles files{folder.path() / "train.csv", folder.path() / "test.csv", {"sick"}, "", true};
        const auto warnings = [&](const std::string& head, const std::string& rows) {
            write_content(files.train, head + rows);
            write_content(files.test, head + rows);
            return read_csv_files(files).warnings;
        };
        CHECK_MESSAGE_IS("data", "", text_of(warnings(",age,sick\n", "0,30,0\n1,20,1\n2,20,0\n")));
        CHECK_MESSAGE_IS("data", "", text_of(warnings("Unnamed: 0,age,sick\n", "17,30,0\n3,20,1\n8,20,0\n")));
        CHECK(warnings(",age,sick\n", "0,30,0\n1,20,1\n1,20,0\n").empty());    // a feature of 0 and 1
        CHECK(warnings(",age,sick\n", "0,30,0\n1.5,20,1\n2,20,0\n").empty());  // not a count
        CHECK(warnings("day,age,sick\n", "0,30,0\n1,20,1\n2,20,0\n").empty());
        files.header = false;
        files.target = {"2"};
        std::string counted, others;
        for (int row = 0; row < 30; ++row) {
            counted += std::to_string(row + 1) + ",30,0\n";
            others += std::to_string(2 * row) + ",30,0\n";
        }
        CHECK_MESSAGE_IS("data", "", text_of(warnings("", counted)));
        CHECK(warnings("", others).empty());
        CHECK(warnings("", "0,30,0\n1,20,1\n2,20,0\n").empty());
    }
}

}  // namespace fedhive::clients
