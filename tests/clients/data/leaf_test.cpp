#include "clients/data/formats/leaf.h"

#include "aggregation/base/error.h"
#include "clients/data/formats/text.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/conformance/dataset_conformance.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

#include <cstring>

namespace fedhive::clients {

namespace {

/// A folder per part; the tests write their files.
struct LeafFixture {
    testing::TemporaryFolder folder;
    LeafFiles files{folder.path() / "train", folder.path() / "test"};

    LeafFixture(const std::string& train, const std::string& test) {
        for (const auto& [part, content] : {std::pair(files.train, train), std::pair(files.test, test)}) {
            std::filesystem::create_directory(part);
            if (!content.empty()) write_content(part / "a.json", content);
        }
    }
    Dataset read() const { return read_leaf(files); }
};

/// A file with these users in LEAF's form; `data` is the contents of user_data.
std::string leaf_json(const std::string& users, const std::string& counts, const std::string& data) {
    return R"({"users": )" + users + R"(, "num_samples": )" + counts + R"(, "user_data": )" + data + "}";
}

const std::string kTrainJson = leaf_json(
    R"(["bo", "ann"])", "[2, 1]", R"({"bo": {"x": [[0.5, 1], [2, -3e1]], "y": [0, 2]}, "ann": {"x": [[4, 5]], "y": [1]}})");
const std::string kTestJson = leaf_json(R"(["zoe"])", "[1]", R"({"zoe": {"x": [[7, 8]], "y": [2.0]}})");

std::vector<float> numbers_of(const Examples& part) {
    std::vector<float> values(part.values.size() / sizeof(float));
    std::memcpy(values.data(), part.values.data(), part.values.size());
    return values;
}

/// Expects that reading this training file throws a message that begins with the file's name and that place.
void expect_leaf_refused(const std::string& train, const std::string& place) {
    const LeafFixture fixture(train, kTestJson);
    CHECK_THROWN_MESSAGE("data", (fixture.files.train / "a.json").string() + place, ConfigError, fixture.read());
}

/// The same for a file with one user, ann, and the contents of her object.
void expect_user_refused(const std::string& user, const std::string& place) {
    expect_leaf_refused(R"({"user_data": {"ann": )" + user + "}}", ": user 'ann': " + place);
}

}  // namespace

TEST_SUITE("Leaf") {
    TEST_CASE("UsersBecomeOwnersInTheOrderOfTheirNames") {
        const LeafFixture fixture(kTrainJson, kTestJson);
        conformance::check_repeatable([&] { return fixture.read(); });
        const Dataset dataset = fixture.read();
        CHECK(dataset.train.shape == ExampleShape{2, 1, 1});
        CHECK(dataset.train.type == ValueType::F32);
        CHECK(numbers_of(dataset.train) == std::vector<float>{0.5F, 1, 2, -30, 4, 5});
        CHECK(dataset.train.labels == std::vector<std::int32_t>{0, 2, 1});
        CHECK(dataset.train.owners == std::vector<std::uint32_t>{1, 1, 0});
        CHECK(dataset.owner_names == std::vector<std::string>{"ann", "bo"});
        CHECK(numbers_of(dataset.test) == std::vector<float>{7, 8});
        CHECK(dataset.test.labels == std::vector<std::int32_t>{2});
        CHECK(dataset.test.owners.empty());
        CHECK(dataset.num_classes == 3);
        CHECK(dataset.owners_left_out == 0);
    }

    TEST_CASE("FilesOfAFolderAreOnePartInTheOrderOfTheirNames") {
        LeafFixture fixture(kTrainJson, kTestJson);
        write_content(
            fixture.files.train / "b.json",
            leaf_json(R"(["abe", "cy"])", "[1, 0]", R"({"abe": {"y": [1], "x": [[6, 7]]}, "cy": {"x": [], "y": []}})"));
        write_content(fixture.files.train / "notes.txt", "no JSON");
        const Dataset dataset = fixture.read();
        CHECK(numbers_of(dataset.train) == std::vector<float>{0.5F, 1, 2, -30, 4, 5, 6, 7});
        CHECK(dataset.train.owners == std::vector<std::uint32_t>{2, 2, 1, 0});
        CHECK(dataset.owners_left_out == 1);
        fixture.files.train /= "b.json";
        CHECK_THROWS_WITH_AS(fixture.read(), doctest::Contains("y[0]: is 2; allowed: 0 to 1; set data.classes to at least 3"),
                             ConfigError);
        fixture.files.num_classes = 7;
        CHECK(fixture.read().num_classes == 7);
        CHECK(fixture.read().train.labels == std::vector<std::int32_t>{1});
    }

    TEST_CASE("FolderAmongTheFilesIsRefused") {
        const LeafFixture fixture(kTrainJson, kTestJson);
        const auto hidden = fixture.files.train / ".cache", nested = fixture.files.train / "part_0";
        std::filesystem::create_directory(hidden);
        CHECK(fixture.read().train.size() == 3);
        std::filesystem::create_directory(nested);
        write_content(nested / "b.json", R"({"user_data": {"cy": {"x": [[6, 7]], "y": [1]}}})");
        CHECK_THROWN_MESSAGE("data", "", ConfigError, fixture.read());
    }

    TEST_CASE("NumbersHaveTheShapeThatIsGiven") {
        LeafFixture fixture(kTrainJson, kTestJson);
        fixture.files.shape = {1, 2, 1};
        CHECK(fixture.read().train.shape == ExampleShape{1, 2, 1});
        CHECK(fixture.read().test.shape == ExampleShape{1, 2, 1});
        fixture.files.unseen = Unseen::Class;
        CHECK_THROWS_WITH_AS(fixture.read(), doctest::Contains("examples are numbers, but data.unseen"), ConfigError);
        fixture.files.unseen = Unseen::Refuse;
        fixture.files.shape = {1, 28, 28};
        CHECK_THROWS_WITH_AS(fixture.read(), doctest::Contains("but data.shape 1 x 28 x 28 has 784"), ConfigError);
    }

    TEST_CASE("TextsBecomeTheTokensOfTheTextFormat") {
        const testing::TemporaryFolder play;
        write_content(play.path() / "play.txt", "ANN:\nhello there\n\nBO:\nwho is it\n");
        const Dataset text =
            read_text({.file = play.path() / "play.txt", .sequence = 4, .test_share = 0.5, .unseen = Unseen::Class});
        // As LEAF converts the same lines: ann's 12 characters and bo's 10, the first halves for training.
        LeafFixture fixture(
            R"({"users": ["ann", "bo"], "hierarchies": ["PLAY", "PLAY"], "num_samples": [2, 1], "user_data": {
            "ann": {"raw": [["x"], {"y": 1}], "x": ["hell", "ello"], "y": ["o", " "]}, "bo": {"x": ["who "], "y": ["i"]}}})",
            R"({"user_data": {"ann": {"x": ["ther", "here"], "y": ["e", "\n"]}, "bo": {"x": ["s it"], "y": ["\n"]}}})");
        CHECK_THROWN_MESSAGE("data", "test/a.json: user 'ann': x[0]:", ConfigError, fixture.read());
        fixture.files.unseen = Unseen::Class;
        const Dataset leaf = fixture.read();
        CHECK(leaf.num_classes == 7 + 1);
        CHECK(leaf.train.shape == text.train.shape);
        CHECK(leaf.train.values == text.train.values);
        CHECK(leaf.train.labels == text.train.labels);
        CHECK(leaf.train.owners == text.train.owners);
        CHECK(leaf.test.values == text.test.values);
        CHECK(leaf.test.labels == text.test.labels);
        CHECK(leaf.num_classes == text.num_classes);
        CHECK(leaf.train.type == ValueType::U8);
    }

    TEST_CASE("CharacterBehindATestTextThatTrainingDoesNotShowIsNamedToo") {
        const LeafFixture fixture(R"({"user_data": {"ann": {"x": ["ab", "ba"], "y": ["a", "b"]}}})",
                                  R"({"user_data": {"zoe": {"x": ["ab", "ba"], "y": ["a", "z"]}}})");
        CHECK_THROWN_MESSAGE("data", "test/a.json: user 'zoe': y[1]:", ConfigError, fixture.read());
    }

    TEST_CASE("DamagedJsonIsNamedByItsByte") {
        const std::string cut = kTrainJson.substr(0, 100);
        expect_leaf_refused(cut, ":");
        expect_leaf_refused(" ", ":");
        const LeafFixture fixture(kTrainJson + "]", kTestJson);
        CHECK_THROWS_WITH_AS(
            fixture.read(),
            doctest::Contains(
                fmt::format("byte {} of {}: is not valid JSON", kTrainJson.size() + 1, kTrainJson.size() + 1).c_str()),
            ConfigError);
        for (const char* number : {"NaN", "1e999", "01", "\"\x80\""}) {
            const LeafFixture damaged(R"({"user_data": {"ann": {"x": [[)" + std::string(number) + R"(]], "y": [0]}}})",
                                      kTestJson);
            CHECK_THROWS_WITH_AS(damaged.read(), doctest::Contains("a.json: byte 3"), ConfigError);
        }
        // The error position is right beyond the window of the file, too.
        const std::string far = R"({"user_data": {"ann": {"x": [)" + std::string(300'000, ' ') + "[1, 2]], !";
        expect_leaf_refused(far, "");
    }

    TEST_CASE("WhatIsNotAskedForIsNamedByUserAndExample") {
        expect_user_refused(R"({"x": [[1, 2], [3]], "y": [0, 1]})", "x[1]:");
        expect_user_refused(R"({"x": [[]], "y": [0]})", "x[0]:");
        expect_user_refused(R"({"x": [[1, 2], "ab"], "y": [0, 1]})", "x[1]:");
        expect_user_refused(R"({"x": ["ab", [1]], "y": [0, 1]})", "x[1]:");
        expect_user_refused(R"({"x": ["ab", "a"], "y": ["a", "b"]})", "x[1]:");
        expect_user_refused(R"({"x": [3], "y": [0]})", "x[0]:");
        expect_user_refused(R"({"x": [[[1]]], "y": [0]})", "x[0]:");
        expect_user_refused(R"({"x": [[1, null]], "y": [0]})", "x[0]:");
        expect_user_refused(R"({"x": [[1e39]], "y": [0]})", "x[0]:");
        expect_user_refused(R"({"x": [[1]], "y": [-1]})", "y[0]:");
        expect_user_refused(R"({"x": [[1], [2]], "y": [0, 1.5]})", "y[1]:");
        expect_user_refused(R"({"x": [[1]], "y": [1000000]})", "y[0]:");
        expect_user_refused(R"({"x": [[1], [2]], "y": [0, "1"]})", "y[1]:");
        expect_user_refused(R"({"x": [[1]], "y": [[0]]})", "y[0]:");
        expect_user_refused(R"({"x": ["ab"], "y": ["é"]})", "y[0]:");
        expect_user_refused(R"({"x": ["ab"], "y": [3]})", "");
        expect_user_refused(R"({"x": [[1]], "y": ["a"]})", "");
        expect_user_refused(R"({"x": [[1], [2]], "y": [0]})", "");
        expect_user_refused(R"({"x": [[1]]})", "");
        expect_user_refused(R"({"x": {}})", "");
        expect_user_refused(R"({"x": [[1]], "x": [[2]]})", "");
    }

    TEST_CASE("FilesOfAnotherFormAreRefused") {
        expect_leaf_refused("[1]", ":");
        expect_leaf_refused("{}", ":");
        expect_leaf_refused(R"({"user_data": []})", ":");
        expect_leaf_refused(R"({"user_data": {"ann": {"x": [[1]], "y": [0]}}, "user_data": {}})", ":");
        expect_leaf_refused(R"({"users": 3})", ":");
        expect_leaf_refused(R"({"users": [3]})", ":");
        expect_leaf_refused(R"({"num_samples": ["3"]})", ":");
        expect_leaf_refused(R"({"user_data": {"ann": [1]}})", ":");
    }

    TEST_CASE("UsersAndCountsThatAreNotThoseOfTheDataAreRefused") {
        const std::string data = R"({"ann": {"x": [[1]], "y": [0]}})";
        expect_leaf_refused(leaf_json(R"(["ann", "bo"])", "[1, 1]", data), ":");
        expect_leaf_refused(leaf_json(R"(["ann", "ann"])", "[1, 1]", data), ":");
        expect_leaf_refused(leaf_json(R"(["ann"])", "[2]", data), ": user 'ann':");
        expect_leaf_refused(leaf_json(R"(["ann"])", "[1, 2]", data), ":");
        const std::string two = R"({"ann": {"x": [[1]], "y": [0]}, "bo": {"x": [[1]], "y": [0]}})";
        expect_leaf_refused(leaf_json(R"(["bo"])", "[1]", two), ":");
        const LeafFixture twice(kTrainJson, kTestJson);
        write_content(twice.files.train / "b.json", R"({"user_data": {"bo": {"x": [[1, 2]], "y": [0]}}})");
        CHECK_THROWN_MESSAGE("data", "", ConfigError, twice.read());
    }

    TEST_CASE("PartsThatDoNotGoTogetherAreRefused") {
        const auto refused = [](const std::string& train, const std::string& test, const std::string& message) {
            const LeafFixture fixture(train, test);
            CHECK_THROWN_MESSAGE("data", message, ConfigError, fixture.read());
        };
        const std::string texts = R"({"user_data": {"bo": {"x": ["ab"], "y": ["c"]}}})";
        refused(kTrainJson, texts, "/test:");
        refused(kTrainJson, R"({"user_data": {"bo": {"x": [[1]], "y": [0]}}})", "/test:");
        refused(kTrainJson, R"({"user_data": {"bo": {"x": [[1, 2], [3, 4]], "y": [0, 3]}}})", "/test/a.json: user 'bo': y[1]:");
        refused(kTrainJson, R"({"user_data": {"bo": {"x": [], "y": []}}})", "/test:");
        refused("", kTestJson, "/train:");
        LeafFixture shaped(texts, texts);
        shaped.files.shape = {1, 2, 1};
        CHECK_THROWN_MESSAGE("data", "", ConfigError, shaped.read());
        LeafFixture counted(texts, texts);
        counted.files.num_classes = 5;
        CHECK_THROWN_MESSAGE("data", "", ConfigError, counted.read());
        shaped.files = {shaped.folder.path() / "nowhere", shaped.files.test};
        CHECK_THROWN_MESSAGE("data", "nowhere:", ConfigError, shaped.read());
    }
}

}  // namespace fedhive::clients
