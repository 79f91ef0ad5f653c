#include "clients/data/formats/leaf.h"

#include "aggregation/base/error.h"
#include "clients/data/formats/text.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/conformance/dataset_conformance.h"

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

/// Expects that reading this training file throws that message after the file's name.
void expect_leaf_refused(const std::string& train, const std::string& message) {
    const LeafFixture fixture(train, kTestJson);
    CHECK_THROWS_WITH_AS(fixture.read(), ((fixture.files.train / "a.json").string() + message).c_str(), ConfigError);
}

/// The same for a file with one user, ann, and the contents of her object.
void expect_user_refused(const std::string& user, const std::string& message) {
    expect_leaf_refused(R"({"user_data": {"ann": )" + user + "}}", ": user 'ann': " + message);
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
        CHECK_THROWS_WITH_AS(fixture.read(), doctest::Contains("y[0]: is 2, expected 0 to 1; set data.classes to at least 3"),
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
        CHECK_THROWS_WITH_AS(
            fixture.read(),
            fmt::format("{}: is a folder; wanted: files *.json in {} itself", nested.string(), fixture.files.train.string())
                .c_str(),
            ConfigError);
    }

    TEST_CASE("NumbersHaveTheShapeThatIsGiven") {
        LeafFixture fixture(kTrainJson, kTestJson);
        fixture.files.shape = {1, 2, 1};
        CHECK(fixture.read().train.shape == ExampleShape{1, 2, 1});
        CHECK(fixture.read().test.shape == ExampleShape{1, 2, 1});
        fixture.files.unseen = Unseen::Class;
        CHECK_THROWS_WITH_AS(fixture.read(), doctest::Contains("examples are numbers, data.unseen is of texts"), ConfigError);
        fixture.files.unseen = Unseen::Refuse;
        fixture.files.shape = {1, 28, 28};
        CHECK_THROWS_WITH_AS(fixture.read(), doctest::Contains("examples have 2 numbers, data.shape 1 x 28 x 28 has 784"),
                             ConfigError);
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
        CHECK_THROWS_WITH_AS(
            fixture.read(), doctest::Contains("test/a.json: user 'ann': x[0]: has 't', which is in nothing that is trained on"),
            ConfigError);
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
        CHECK_THROWS_WITH_AS(fixture.read(), doctest::Contains("test/a.json: user 'zoe': y[1]: has 'z', which is in nothing"),
                             ConfigError);
    }

    TEST_CASE("DamagedJsonIsNamedByItsByte") {
        const std::string cut = kTrainJson.substr(0, 100);
        expect_leaf_refused(
            cut, ": byte 101 of 100: is no JSON: unexpected end of input; expected ':'; the file is damaged or cut off");
        expect_leaf_refused(" ",
                            ": byte 2 of 1: is no JSON: unexpected end of input; expected '[', '{', or a literal; the file is "
                            "damaged or cut off");
        const LeafFixture fixture(kTrainJson + "]", kTestJson);
        CHECK_THROWS_WITH_AS(
            fixture.read(),
            doctest::Contains(fmt::format("byte {} of {}: is no JSON", kTrainJson.size() + 1, kTrainJson.size() + 1).c_str()),
            ConfigError);
        for (const char* number : {"NaN", "1e999", "01", "\"\x80\""}) {
            const LeafFixture damaged(R"({"user_data": {"ann": {"x": [[)" + std::string(number) + R"(]], "y": [0]}}})",
                                      kTestJson);
            CHECK_THROWS_WITH_AS(damaged.read(), doctest::Contains("a.json: byte 3"), ConfigError);
        }
        // The error position is right beyond the window of the file, too.
        const std::string far = R"({"user_data": {"ann": {"x": [)" + std::string(300'000, ' ') + "[1, 2]], !";
        expect_leaf_refused(
            far, fmt::format(": byte {0} of {0}: is no JSON: invalid literal; last read: '2]], !'; expected string literal; "
                             "the file is damaged or cut off",
                             far.size()));
    }

    TEST_CASE("WhatIsNotAskedForIsNamedByUserAndExample") {
        expect_user_refused(R"({"x": [[1, 2], [3]], "y": [0, 1]})", "x[1]: has 1 numbers; wanted: 2, as the first example has");
        expect_user_refused(R"({"x": [[]], "y": [0]})", "x[0]: has 0 numbers; wanted: at least one");
        expect_user_refused(R"({"x": [[1, 2], "ab"], "y": [0, 1]})",
                            "x[1]: is a text; wanted: a list of numbers, as the first example is");
        expect_user_refused(R"({"x": ["ab", [1]], "y": [0, 1]})",
                            "x[1]: is a list of numbers; wanted: a text, as the first example is");
        expect_user_refused(R"({"x": ["ab", "a"], "y": ["a", "b"]})",
                            "x[1]: has 1 bytes of text; wanted: 2, as the first example has");
        expect_user_refused(R"({"x": [3], "y": [0]})", "x[0]: is the number 3; wanted: a list of numbers, or a text");
        expect_user_refused(R"({"x": [[[1]]], "y": [0]})", "x[0]: has a list among its numbers");
        expect_user_refused(R"({"x": [[1, null]], "y": [0]})", "x[0]: has null among its numbers");
        expect_user_refused(R"({"x": [[1e39]], "y": [0]})", "x[0]: has 1e+39, more than an f32 can be");
        const std::string label = "; wanted: a class, a whole number from 0, below 1000000";
        expect_user_refused(R"({"x": [[1]], "y": [-1]})", "y[0]: is '-1'" + label);
        expect_user_refused(R"({"x": [[1], [2]], "y": [0, 1.5]})", "y[1]: is '1.5'" + label);
        expect_user_refused(R"({"x": [[1]], "y": [1000000]})", "y[0]: is '1000000'" + label);
        expect_user_refused(R"({"x": [[1], [2]], "y": [0, "1"]})", "y[1]: is '1'" + label);
        expect_user_refused(R"({"x": [[1]], "y": [[0]]})", "y[0]: is a list; wanted: a class, or a character");
        expect_user_refused(R"({"x": ["ab"], "y": ["é"]})", "y[0]: is 'é'; wanted: one character, of one byte");
        expect_user_refused(R"({"x": ["ab"], "y": [3]})", "has numbers y for texts x; wanted: the character behind each text");
        expect_user_refused(R"({"x": [[1]], "y": ["a"]})",
                            "has characters y for numbers x; wanted: classes, whole numbers from 0");
        expect_user_refused(R"({"x": [[1], [2]], "y": [0]})", "has 2 examples x and 1 labels y; wanted: a label each");
        expect_user_refused(R"({"x": [[1]]})", "has 1 examples x and 0 labels y; wanted: a label each");
        expect_user_refused(R"({"x": {}})", "x is an object; wanted: one list x and one list y");
        expect_user_refused(R"({"x": [[1]], "x": [[2]]})", "x is a list; wanted: one list x and one list y");
    }

    TEST_CASE("FilesOfAnotherFormAreRefused") {
        const std::string form = "; wanted: an object of users, num_samples and user_data, as LEAF writes it";
        expect_leaf_refused("[1]", ": begins with a list" + form);
        expect_leaf_refused("{}", ": has nobody in user_data" + form);
        expect_leaf_refused(R"({"user_data": []})", ": user_data is a list" + form);
        expect_leaf_refused(R"({"user_data": {"ann": {"x": [[1]], "y": [0]}}, "user_data": {}})",
                            ": user_data is another object" + form);
        expect_leaf_refused(R"({"users": 3})", ": users is the number 3" + form);
        expect_leaf_refused(R"({"users": [3]})", ": users[0] is the number 3; wanted: a name");
        expect_leaf_refused(R"({"num_samples": ["3"]})", ": num_samples[0] is the text '3'; wanted: a count");
        expect_leaf_refused(R"({"user_data": {"ann": [1]}})", ": user 'ann' is a list; wanted: {x: […], y: […]}");
    }

    TEST_CASE("UsersAndCountsThatAreNotThoseOfTheDataAreRefused") {
        const std::string data = R"({"ann": {"x": [[1]], "y": [0]}})";
        expect_leaf_refused(leaf_json(R"(["ann", "bo"])", "[1, 1]", data),
                            ": users has 'bo', user_data has not; the file is damaged");
        expect_leaf_refused(leaf_json(R"(["ann", "ann"])", "[1, 1]", data), ": users has 'ann', twice; wanted: each user once");
        expect_leaf_refused(leaf_json(R"(["ann"])", "[2]", data),
                            ": user 'ann': has 1 examples, num_samples promises 2; the file is damaged");
        expect_leaf_refused(leaf_json(R"(["ann"])", "[1, 2]", data),
                            ": has 1 users and 2 num_samples; wanted: a count for each");
        const std::string two = R"({"ann": {"x": [[1]], "y": [0]}, "bo": {"x": [[1]], "y": [0]}})";
        expect_leaf_refused(leaf_json(R"(["bo"])", "[1]", two), ": user 'ann' is not among users; the file is damaged");
        const LeafFixture twice(kTrainJson, kTestJson);
        write_content(twice.files.train / "b.json", R"({"user_data": {"bo": {"x": [[1, 2]], "y": [0]}}})");
        CHECK_THROWS_WITH_AS(
            twice.read(),
            fmt::format("{0}/b.json: user 'bo': stands in {0}/a.json before; wanted: each user once, with all its examples",
                        twice.files.train.string())
                .c_str(),
            ConfigError);
    }

    TEST_CASE("PartsThatDoNotGoTogetherAreRefused") {
        const auto refused = [](const std::string& train, const std::string& test, const std::string& message) {
            const LeafFixture fixture(train, test);
            CHECK_THROWS_WITH_AS(fixture.read(), doctest::Contains(message.c_str()), ConfigError);
        };
        const std::string texts = R"({"user_data": {"bo": {"x": ["ab"], "y": ["c"]}}})";
        refused(kTrainJson, texts,
                "/test: test examples are 2 bytes of text, but training examples 2 numbers; both must be alike");
        refused(kTrainJson, R"({"user_data": {"bo": {"x": [[1]], "y": [0]}}})",
                "/test: test examples are 1 numbers, but training examples 2 numbers; both must be alike");
        refused(kTrainJson, R"({"user_data": {"bo": {"x": [[1, 2], [3, 4]], "y": [0, 3]}}})",
                "/test/a.json: user 'bo': y[1]: is 3, expected 0 to 2; set data.classes to at least 4");
        refused(kTrainJson, R"({"user_data": {"bo": {"x": [], "y": []}}})", "/test: no user has an example");
        refused("", kTestJson, "/train: has no file *.json; wanted: the folder train or test that LEAF's split_data.py wrote");
        LeafFixture shaped(texts, texts);
        shaped.files.shape = {1, 2, 1};
        CHECK_THROWS_WITH_AS(shaped.read(), doctest::Contains("examples are texts, which have no data.shape; leave it out"),
                             ConfigError);
        LeafFixture counted(texts, texts);
        counted.files.num_classes = 5;
        CHECK_THROWS_WITH_AS(counted.read(), doctest::Contains("whose classes are their characters; leave data.classes out"),
                             ConfigError);
        shaped.files = {shaped.folder.path() / "nowhere", shaped.files.test};
        CHECK_THROWS_WITH_AS(shaped.read(), doctest::Contains("nowhere: there is no such file"), ConfigError);
    }
}

}  // namespace fedhive::clients
