#include "clients/data/formats/csv.h"

#include "aggregation/base/error.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/conformance/dataset_conformance.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

#include <cstring>

namespace fedhive::clients {

namespace {

const std::string kTrain = "age,who,sick,pressure\n20,7,0,1.5\n30,12,2,-2e1\n40,ann,1,+0.25\n50,7,0,3\n";
const std::string kTest = "age,sick,pressure\n1,2,9\n";
const std::string kTestOfAge = "age,sick\n1,0\n";

struct CsvFixture {
    testing::TemporaryFolder folder;
    CsvFiles files{folder.path() / "train.csv", folder.path() / "test.csv", {"sick"}, "who", true};

    explicit CsvFixture(const std::string& train = kTrain, const std::string& test = kTest) {
        write_content(files.train, train);
        write_content(files.test, test);
    }
    Dataset read(std::int64_t num_classes = 0) const { return read_csv_files(files, num_classes); }
};

std::vector<float> features_of(const Examples& part) {
    std::vector<float> values(part.values.size() / sizeof(float));
    std::memcpy(values.data(), part.values.data(), part.values.size());
    return values;
}

/// Expects that reading this training file throws that message after the file's name.
void expect_csv_refused(const std::string& train, const std::string& place) {
    const CsvFixture fixture(train);
    CHECK_THROWN_MESSAGE("data", fixture.files.train.string() + place, ConfigError, fixture.read());
}

}  // namespace

TEST_SUITE("Csv") {
    TEST_CASE("ColumnsBecomeFeaturesLabelsAndOwners") {
        const CsvFixture fixture;
        conformance::check_repeatable([&] { return fixture.read(); });
        const Dataset dataset = fixture.read();
        CHECK(dataset.train.shape == ExampleShape{2, 1, 1});
        CHECK(dataset.train.type == ValueType::F32);
        CHECK(features_of(dataset.train) == std::vector<float>{20, 1.5F, 30, -20, 40, 0.25F, 50, 3});
        CHECK(dataset.train.labels == std::vector<std::int32_t>{0, 2, 1, 0});
        CHECK(dataset.train.owners == std::vector<std::uint32_t>{0, 1, 2, 0});
        CHECK(dataset.owner_names == std::vector<std::string>{"7", "12", "ann"});
        CHECK(dataset.test.owners.empty());
        CHECK(dataset.num_classes == 3);
        CHECK(fixture.read(5).num_classes == 5);
    }

    TEST_CASE("TargetOrOwnersThatStandTwiceAreRefused") {
        expect_csv_refused("sick,who,age,sick\n0,1,2,0\n", ":1: target:");
        expect_csv_refused("sick,who,age,\" sick \"\n0,1,2,0\n", ":1: target:");
        expect_csv_refused("\r\n\nwho,who,age,sick\n0,1,2,0\n", ":3: client:");
        CsvFixture fixture("low,age,high,low\n0,1,2,0\n", "low,age,high\n0,1,2\n");
        fixture.files.client = "";
        fixture.files.target = {"high", "low"};
        fixture.files.numbers = true;
        CHECK_THROWS_WITH_AS(fixture.read(), doctest::Contains(":1: target: columns 1 and 4 "), ConfigError);
        // The test file's owners are only excluded from the features; nothing else is checked.
        const CsvFixture tested(kTrain, "age,who,sick,who,pressure\n1,2,2,2,9\n");
        CHECK_THROWN_MESSAGE("data", tested.files.test.string() + ":1: client:", ConfigError, tested.read());
    }

    TEST_CASE("FeaturesMayHaveOneName") {
        CsvFixture fixture("a,sick,a\n1,0,2\n3,1,4\n", "a,sick,a\n5,0,6\n");
        fixture.files.client = "";
        CHECK(features_of(fixture.read().train) == std::vector<float>{1, 2, 3, 4});
    }

    TEST_CASE("OwnersAreTheTextThatStandsThere") {
        const auto owners_of = [](const std::vector<std::string>& names) {
            std::string train = "who,age,sick\n";
            for (const std::string& name : names) train += name + ",1,0\n";
            return CsvFixture(train, kTestOfAge).read().train.owners;
        };
        CHECK(owners_of({"01", "1", "001", "+1", "1.0"}) == std::vector<std::uint32_t>{2, 3, 1, 0, 4});
        CHECK(owners_of({"north ", "north", "\"north\"", " north", "North"}) == std::vector<std::uint32_t>{3, 2, 2, 0, 1});
        // Numbers are ordered by value, with blanks or not, and of any length.
        CHECK(owners_of({"10", " 9", "-3", "-20", "0", "x", "9"}) == std::vector<std::uint32_t>{5, 3, 1, 0, 2, 6, 4});
        CHECK(owners_of({"18446744073709551616", "9223372036854775808", "a", "-9223372036854775809", "7"}) ==
              std::vector<std::uint32_t>{3, 2, 4, 0, 1});
        CHECK(owners_of({"+", "-", "+-1", "- 1", "-0", "00"}) == std::vector<std::uint32_t>{2, 4, 3, 5, 0, 1});
    }

    TEST_CASE("WithoutAHeaderColumnsAreNumbers") {
        CsvFixture fixture("1,0,5\n2,1,6\n", "3,1,7\n");
        fixture.files.header = false;
        fixture.files.target = {"1"};
        fixture.files.client = "";
        const Dataset dataset = fixture.read();
        CHECK(features_of(dataset.train) == std::vector<float>{1, 5, 2, 6});
        CHECK(dataset.train.labels == std::vector<std::int32_t>{0, 1});
        CHECK(dataset.train.owners.empty());
    }

    TEST_CASE("QuotesBlanksEmptyLinesAndOtherLineEndsAreRead") {
        CsvFixture fixture("\xEF\xBB\xBF\"a, \"\"b\"\"\" , sick\r\n\r\n \"4\",1\r\n5 , 0", "\"a, \"\"b\"\"\",sick\n6,1\n");
        fixture.files.client = "";
        const Dataset dataset = fixture.read();
        CHECK(features_of(dataset.train) == std::vector<float>{4, 5});
        CHECK(dataset.train.labels == std::vector<std::int32_t>{1, 0});
    }

    TEST_CASE("LabelsWrittenAsFloatsAreWholeNumbers") {
        const CsvFixture fixture("age,who,sick,pressure\n20,7,0.0,1\n30,12,2.0,1\n40,1,+1e0,1\n",
                                 "age,sick,pressure\n1,-0.0,9\n");
        CHECK(fixture.read().train.labels == std::vector<std::int32_t>{0, 2, 1});
        CHECK(fixture.read().test.labels == std::vector<std::int32_t>{0});
        CHECK(fixture.read().num_classes == 3);
    }

    TEST_CASE("CellsThatAreNoNumbersAreNamedByLineAndColumn") {
        const std::string head = "age,who,sick,pressure\n20,7,0,1.5\n";
        expect_csv_refused(head + "30,12,2,\n", ":3: column 'pressure':");
        expect_csv_refused(head + "old,12,2,1\n", ":3: column 'age':");
        expect_csv_refused(head + "\n3,12,2,nan\n", ":4: column 'pressure':");
        expect_csv_refused(head + "3,12,2,1e39\n", ":3: column 'pressure':");
        expect_csv_refused(head + "3,12,2,+-1\n", ":3: column 'pressure':");
        expect_csv_refused(head + "3,\"  \",1,1\n", ":3: column 'who':");
        expect_csv_refused(head + "3,12,2,1.5x\n", ":3: column 'pressure':");
        expect_csv_refused(head + "3,12,-1,1\n", ":3: column 'sick':");
        expect_csv_refused(head + "3,12,1.5,1\n", ":3: column 'sick':");
        expect_csv_refused(head + "3,12,nan,1\n", ":3: column 'sick':");
        expect_csv_refused(head + "3,12,1000000,1\n", ":3: column 'sick':");
        expect_csv_refused(head + "3,,1,1\n", ":3: column 'who':");
    }

    TEST_CASE("TablesThatAreNoneAreRefused") {
        expect_csv_refused("", ":");
        expect_csv_refused("age,who,sick\n", ":");
        expect_csv_refused("age,who,sick\n1,2\n", ":2:");
        expect_csv_refused("age,who,sick\n1,\"2,0\n", ":2:");
        expect_csv_refused("age;who;sick\n", ":1:");
        expect_csv_refused("age\twho\tsick\n", ":1:");
        expect_csv_refused("age,sick\n", ":1: client:");
        expect_csv_refused("who,sick\n1,1\n", ":1:");
    }

    TEST_CASE("TestColumnsThatAreNotThoseOfTheTrainingFileAreRefused") {
        const auto expect_test_refused = [](const std::string& test, const std::string& message) {
            const CsvFixture fixture(kTrain, test);
            CHECK_THROWN_MESSAGE("data", fixture.files.test.string() + message, ConfigError, fixture.read());
        };
        expect_test_refused("age,sick\n1,1\n", ":1:");
        expect_test_refused("age,sick,pressure,x\n1,1,1,1\n", ":1:");
        expect_test_refused("pressure,sick,age\n1,1,1\n", ":1:");
        expect_test_refused("age,sick,pressure\n1,3,1\n", ": column 'sick':");
    }
}

}  // namespace fedhive::clients
