#include "clients/data/formats/npz.h"

#include "aggregation/base/error.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/conformance/dataset_conformance.h"
#include "tests/support/golden_messages.h"
#include "tests/support/zip_archive.h"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>

namespace fedhive::clients {

namespace {

Dataset read(const NpzFixture& fixture, std::int64_t num_classes = 0) {
    return read_npz({fixture.file("train"), fixture.file("test")}, num_classes);
}

/// The message of the ConfigError that reading throws; any other outcome fails the test.
std::string npz_error(const NpzFixture& fixture, std::int64_t num_classes = 0) {
    try {
        read(fixture, num_classes);
    } catch (const ConfigError& error) {
        return error.what();
    }
    FAIL("read_npz accepted it");
    return {};
}

/// Replaces one array of the training file; the error must name file and array and contain `text`.
void expect_refused(const std::string& array, const std::string& content, const std::string& text = "") {
    for (const bool compressed : {false, true}) {
        const NpzFixture fixture(compressed);
        Arrays arrays = NpzFixture::train();
        arrays[array] = content;
        fixture.put("train", arrays);
        const std::string message = npz_error(fixture);
        CHECK_MESSAGE(message.starts_with(fmt::format("{}: {}: ", fixture.file("train").string(), array)), message);
        CHECK_MESSAGE(message.find(text) != std::string::npos, message);
        CHECK_MESSAGE_IS("data", "", message);
    }
}

std::vector<float> npz_floats(const Examples& part) {
    std::vector<float> values(part.values.size() / sizeof(float));
    std::memcpy(values.data(), part.values.data(), part.values.size());
    return values;
}

}  // namespace

TEST_SUITE("Npz") {
    TEST_CASE("ConformsAsADataset") {
        for (const bool compressed : {false, true}) {
            const NpzFixture fixture(compressed);
            conformance::check_repeatable([&] { return read(fixture); });
            const Dataset dataset = read(fixture);
            CHECK(dataset.train.shape == ExampleShape{3, 1, 1});
            CHECK(dataset.train.type == ValueType::F32);
            CHECK(dataset.num_classes == 3);
            CHECK_FALSE(dataset.rounded);
            CHECK(npz_floats(dataset.test) == std::vector<float>{9, 8, 7, 6, 5, 4});
            CHECK(dataset.train.labels == std::vector<std::int32_t>{0, 1, 2, 2, 1, 0});
            CHECK(read(fixture, 7).num_classes == 7);
        }
    }

    TEST_CASE("BytesStayBytesInTwoThreeAndFourDimensions") {
        const NpzFixture fixture;
        const std::string bytes = raw<std::uint8_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255});
        const std::vector<std::pair<std::string, ExampleShape>> cases{
            {"(1, 12)", {12, 1, 1}}, {"(1, 3, 4)", {1, 3, 4}}, {"(1, 2, 3, 2)", {2, 3, 2}}};
        for (const auto& [text, shape] : cases) {
            for (const char* part : {"train", "test"})
                fixture.put(part, {{"x", npy("|u1", text, bytes)}, {"y", npy("|u1", "(1,)", "\1")}});
            const Dataset dataset = read(fixture);
            CHECK(dataset.train.shape == shape);
            CHECK(dataset.train.type == ValueType::U8);
            CHECK(raw(dataset.train.values) == bytes);
        }
    }

    TEST_CASE("DoublesAreRoundedAndThatIsKnown") {
        const NpzFixture fixture;
        Arrays arrays = NpzFixture::train();
        arrays["x"] = npy("<f8", "(6, 3)", raw(std::vector<double>(18, 0.1)));
        fixture.put("train", arrays);
        const Dataset dataset = read(fixture);
        CHECK(dataset.rounded);
        CHECK(npz_floats(dataset.train) == std::vector<float>(18, 0.1F));
    }

    TEST_CASE("LabelsMayBeOfAnyTypeOfIntegers") {
        const NpzFixture fixture;
        const std::map<std::string, std::string> types{
            {"|i1", raw<std::int8_t>({0, 1, 2, 2, 1, 0})},  {"|u1", raw<std::uint8_t>({0, 1, 2, 2, 1, 0})},
            {"<i2", raw<std::int16_t>({0, 1, 2, 2, 1, 0})}, {"<u2", raw<std::uint16_t>({0, 1, 2, 2, 1, 0})},
            {"<i4", raw<std::int32_t>({0, 1, 2, 2, 1, 0})}, {"<u4", raw<std::uint32_t>({0, 1, 2, 2, 1, 0})},
            {"<u8", raw<std::uint64_t>({0, 1, 2, 2, 1, 0})}};
        for (const auto& [dtype, data] : types) {
            Arrays arrays = NpzFixture::train();
            arrays["y"] = npy(dtype, "(6,)", data);
            fixture.put("train", arrays);
            CAPTURE(dtype);
            CHECK(read(fixture).train.labels == std::vector<std::int32_t>{0, 1, 2, 2, 1, 0});
        }
    }

    TEST_CASE("TokensAreBytesOrIntegersOfOneVocabulary") {
        const NpzFixture fixture;
        const auto put = [&](const char* part, const std::string& dtype, const std::string& data) {
            fixture.put(part, {{"x", npy(dtype, "(2, 3)", data)}, {"y", npy("|u1", "(2,)", std::string("\0\1", 2))}});
        };
        const auto tokens = [&](std::int64_t vocabulary = 0) {
            return read_npz({fixture.file("train"), fixture.file("test"), true, vocabulary});
        };
        put("train", "|u1", raw<std::uint8_t>({0, 1, 2, 6, 1, 0}));
        put("test", "|u1", raw<std::uint8_t>({0, 1, 5, 4, 1, 0}));
        conformance::check_repeatable(tokens);
        CHECK(tokens().train.shape == ExampleShape{3, 1, 1, 7});
        CHECK(tokens(300).test.shape == ExampleShape{3, 1, 1, 300});
        CHECK(tokens().train.type == ValueType::U8);
        // The fingerprint distinguishes tokens from numbers.
        CHECK(tokens().fingerprint() != read(fixture).fingerprint());
        CHECK_THROWN_MESSAGE("data", "", ConfigError, tokens(6));
        put("test", "|u1", raw<std::uint8_t>({0, 1, 5, 4, 1, 9}));
        CHECK_THROWN_MESSAGE("data", "", ConfigError, tokens());
        put("train", "<i8", raw<std::int64_t>({0, 1, 2, 999999, 1, 0}));
        CHECK_THROWS_WITH_AS(tokens(), doctest::Contains("the same type"), ConfigError);
        put("test", "<u2", raw<std::uint16_t>({0, 1, 2, 60000, 1, 0}));
        const Dataset wide = tokens();
        CHECK(wide.train.type == ValueType::I32);
        CHECK(wide.test.shape == ExampleShape{3, 1, 1, 1'000'000});
        CHECK(raw(wide.test.values) == raw<std::int32_t>({0, 1, 2, 60000, 1, 0}));
    }

    TEST_CASE("TokensThatAreNoneAreNamed") {
        const NpzFixture fixture;
        const auto refused = [&](const std::string& x, const std::string& text) {
            fixture.put("train", {{"x", x}, {"y", npy("|u1", "(2,)", std::string("\0\1", 2))}});
            CHECK_THROWS_WITH_AS(read_npz({fixture.file("train"), fixture.file("test"), true}),
                                 (fixture.file("train").string() + ": x: " + text).c_str(), ConfigError);
        };
        refused(npy("<f4", "(2, 1)", raw<float>({0, 1})),
                "has the dtype <f4; expected: integers, because data.values is tokens; fix: x = x.astype(\"int32\")");
        refused(
            npy("<i4", "(2, 1, 1)", raw<std::int32_t>({0, 1})),
            "has the shape (2, 1, 1); expected: (n, positions), because data.values is tokens; fix: x = x.reshape(len(x), -1)");
        for (const auto& [bad, text] : {std::pair<std::int64_t, const char*>{-3, "-3"}, {1'000'000, "1000000"}})
            refused(npy("<i8", "(2, 2)", raw<std::int64_t>({0, 1, 2, bad})),
                    fmt::format("x[1, 1] is {}; expected: tokens from 0, below 1000000; fix: x = numpy.unique(x, "
                                "return_inverse=True)[1].reshape(x.shape)",
                                text));
    }

    TEST_CASE("MoreValuesThanAChunkAreReadToTheLast") {
        const NpzFixture fixture(true);
        std::vector<float> x(3 * 400'001);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
        fixture.put("train",
                    {{"x", npy("<f4", "(400001, 3)", raw(x))}, {"y", npy("|u1", "(400001,)", std::string(400'001, '\2'))}});
        CHECK(npz_floats(read(fixture).train) == x);
    }

    TEST_CASE("ArraysThatAreNoPlainNumbersAreRefusedWithALineThatMendsThem") {
        const std::string eighteen(18 * 8, '\0');
        expect_refused("x", npy("<f4", "(6, 3)", eighteen.substr(72), "True"));
        expect_refused("x", npy("|O", "(6, 3)", eighteen));
        expect_refused("x", npy(">f4", "(6, 3)", eighteen.substr(72)));
        expect_refused("x", npy("<f2", "(6, 3)", eighteen.substr(108)));
        expect_refused("x", npy("<i8", "(6, 3)", eighteen));
        expect_refused("x", npy("<c8", "(6, 3)", eighteen));
        expect_refused("x", npy("[('a', '<f4')]", "(6, 3)", eighteen.substr(72)));
        for (const char* dtype : {"<i3", "<u16", "|b4", "<f3"}) expect_refused("y", npy(dtype, "(6,)", eighteen));
        for (const char* dtype : {"<U2", "|O"}) expect_refused("y", npy(dtype, "(6,)", eighteen.substr(96)), "expected:");
        const NpzFixture owned;
        owned.put("train", {{"x", npy("<f4", "(6, 3)", eighteen.substr(72))},
                            {"y", npy("|u1", "(6,)", std::string(6, '\0'))},
                            {"client", npy("|O", "(6,)", eighteen.substr(96))}});
        CHECK_THROWN_MESSAGE("data", "client:", ConfigError, read(owned));
        expect_refused("y", npy("<f8", "(6,)", eighteen.substr(96)));
    }

    TEST_CASE("ShapesAndCountsThatDoNotFitAreRefused") {
        const std::string floats(18 * 4, '\0');
        expect_refused("x", npy("<f4", "(18,)", floats));
        expect_refused("x", npy("<f4", "()", floats.substr(68)));
        expect_refused("x", npy("<f4", "(1, 2, 3, 3, 1)", floats));
        expect_refused("x", npy("<f4", "(0, 3)", ""), "expected:");
        expect_refused("x", npy("<f4", "(6, 0)", ""));
        expect_refused("y", npy("<i8", "(5,)", std::string(40, '\0')));
        expect_refused("y", npy("<i8", "(6, 1)", std::string(48, '\0')));
        expect_refused("y", npy("<i8", "(6, 3)", std::string(144, '\0')));
        expect_refused("y", npy("<f4", "(6, 3)", std::string(72, '\0')));
    }

    TEST_CASE("NumbersThatNoModelCanTakeAreRefusedByTheirPlace") {
        std::vector<float> x(18, 1.0F);
        x[10] = std::numeric_limits<float>::quiet_NaN();
        expect_refused("x", npy("<f4", "(6, 3)", raw(x)));
        std::vector<double> doubles(18, 1.0);
        doubles[17] = -1e300;
        expect_refused("x", npy("<f8", "(6, 3)", raw(doubles)));
        expect_refused("y", npy("<i8", "(6,)", raw<std::int64_t>({0, 0, -1, 0, 0, 0})));
        expect_refused("y", npy("<u8", "(6,)", raw<std::uint64_t>({0, 0, 0, 1ULL << 63U, 0, 0})));
        expect_refused("y", npy("<i8", "(6,)", raw<std::int64_t>({0, 0, 0, 0, 1'000'000, 0})));
    }

    TEST_CASE("HeadsThatPromiseWhatIsNotThereAreRefusedBeforeMemoryIsTaken") {
        const std::string floats(18 * 4, '\0');
        expect_refused("x", npy("<f4", "(6000000000000, 3)", floats));
        expect_refused("x", npy("<f4", "(6000000000000, 6000000000000)", floats));
        expect_refused("x", npy("<f4", "(6, 3)", floats + "x"));
        expect_refused("x", npy("<f4", "(6, 3)", floats.substr(1)));
        expect_refused("x", npy("<f4", "(6, -3)", floats));
        expect_refused("x", "not an array at all, but long enough");
        expect_refused("x", "");
    }

    TEST_CASE("HeadsOfOtherVersionsOrWithAKeyTwiceAreRefused") {
        std::string version = NpzFixture::train()["x"];
        for (const auto& [at, value] : {std::pair(6, '\0'), {6, '\4'}, {7, '\1'}}) {
            std::string changed = version;
            changed[static_cast<std::size_t>(at)] = value;
            expect_refused("x", changed);
        }
        expect_refused("x", npy("<f4', 'shape': (18, 1), 'descr': '<f4", "(6, 3)", std::string(72, '\0')));
    }

    TEST_CASE("OfMembersWithOneNameTheLastIsReadWithoutItsEndBeforeWithIt") {
        const NpzFixture fixture;
        const Arrays arrays = NpzFixture::train();
        const std::string other = npy("<i8", "(6,)", raw<std::int64_t>({3, 3, 3, 3, 3, 3}));
        const std::vector<testing::Members> cases{
            {{"x", arrays.at("x")}, {"y", arrays.at("y")}},
            {{"y.npy", other}, {"x.npy", arrays.at("x")}, {"y.npy", arrays.at("y")}},
            {{"y", other}, {"y", arrays.at("y")}, {"x.npy", arrays.at("x")}, {"y.npy", other}}};
        for (const testing::Members& members : cases) {
            write_content(fixture.file("train"), testing::archive_of(members));
            CHECK(read(fixture).train.labels == std::vector<std::int32_t>{0, 1, 2, 2, 1, 0});
        }
    }

    TEST_CASE("ArraysThatAreMissingAreNamedBesideThoseThatAreThere") {
        const NpzFixture fixture;
        Arrays arrays = NpzFixture::train();
        arrays["labels"] = arrays["y"];
        arrays.erase("y");
        fixture.put("train", arrays);
        CHECK_MESSAGE_IS("data", "no such array", npz_error(fixture));
    }

    TEST_CASE("TestExamplesOfAnotherKindAreRefused") {
        const NpzFixture fixture;
        const std::string y = npy("|u1", "(1,)", "\1");
        fixture.put("test", {{"x", npy("<f4", "(1, 4)", std::string(16, '\0'))}, {"y", y}});
        CHECK(npz_error(fixture).find("test examples are 4 x 1 x 1, but training examples 3 x 1 x 1") != std::string::npos);
        fixture.put("test", {{"x", npy("|u1", "(1, 3)", "123")}, {"y", y}});
        CHECK(npz_error(fixture).find("fix: x_test = x_test.astype(x_train.dtype)") != std::string::npos);
        fixture.put("test", {{"x", npy("<f4", "(1, 3)", std::string(12, '\0'))}, {"y", npy("|u1", "(1,)", "\3")}});
        CHECK(npz_error(fixture) ==
              fixture.file("test").string() + ": y: y[0] is 3; allowed: 0 to 2; set data.classes to at least 4");
        CHECK(npz_error(fixture, 2).starts_with(fixture.file("train").string() + ": y: y[2] is 2; allowed: 0 to 1"));
        CHECK(read(fixture, 4).num_classes == 4);
    }

    TEST_CASE("OwnersAreCountedInTheOrderOfTheirNumbers") {
        const NpzFixture fixture;
        CHECK(read(fixture).train.owners.empty());
        Arrays arrays = NpzFixture::train();
        arrays["client"] = npy("<i4", "(6,)", raw<std::int32_t>({70, -3, 500, 70, -3, -3}));
        fixture.put("train", arrays);
        CHECK(read(fixture).train.owners == std::vector<std::uint32_t>{1, 0, 2, 1, 0, 0});
        arrays["client"] = npy("<u8", "(6,)", raw<std::uint64_t>({1ULL << 63U, 1, ~0ULL, 1, 0, 1ULL << 63U}));
        fixture.put("train", arrays);
        CHECK(read(fixture).train.owners == std::vector<std::uint32_t>{2, 1, 3, 1, 0, 2});
        expect_refused("client", npy("<i4", "(5,)", std::string(20, '\0')));
        expect_refused("client", npy("<U1", "(6,)", std::string(24, '\0')));
        expect_refused("client", npy("|O", "(6,)", std::string(48, '\0')), "client:");
    }

    TEST_CASE("ArchivesThatAreDamagedEncryptedOrNoneAreRefused") {
        const NpzFixture fixture;
        const std::string whole = content_of(fixture.file("train"));
        const auto message_for = [&](const std::string& content) {
            write_content(fixture.file("train"), content);
            return npz_error(fixture);
        };
        CHECK(message_for(whole.substr(0, whole.size() / 2)).find("is not a complete .npz archive") != std::string::npos);
        CHECK(message_for("").find("is not a complete .npz archive") != std::string::npos);
        CHECK(message_for(NpzFixture::train()["x"]).find("fix: numpy.savez") != std::string::npos);
        std::string changed = whole;
        changed[whole.find("NUMPY") + 130] ^= 1;  // a value of x, which makes its checksum wrong
        CHECK_MESSAGE_IS("data", "", message_for(changed));
        write_npz(fixture.file("train"), NpzFixture::train(), false, "secret");
        CHECK_MESSAGE_IS("data", "", npz_error(fixture));
        std::filesystem::remove(fixture.file("train"));
        CHECK(npz_error(fixture).find(fixture.file("train").string()) == 0);
    }

    TEST_CASE("MemberThatClaimsMoreThanItsBytesCanBecomeIsRefused") {
        const NpzFixture fixture(true);
        std::string content = content_of(fixture.file("train"));
        // Sizes of the first member in the central directory, relative to its signature: compressed at 20, uncompressed at 24.
        const std::size_t central = content.find("PK\1\2");
        REQUIRE(central != std::string::npos);
        content.replace(central + 24, 4, std::string("\xF0\xFF\xFF\x7F", 4));
        write_content(fixture.file("train"), content);
        CHECK(npz_error(fixture).find("x: promises 2147483632 bytes in ") != std::string::npos);
    }
}

}  // namespace fedhive::clients
