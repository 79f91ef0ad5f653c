#include "clients/data/formats/idx.h"

#include "aggregation/base/error.h"
#include "tests/clients/data/idx_fixture.h"
#include "tests/conformance/dataset_conformance.h"
#include "tests/support/golden_messages.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fedhive::clients {

namespace {

const char* const kTrainImages = "train-images-idx3-ubyte";
const char* const kTrainLabels = "train-labels-idx1-ubyte";
const char* const kTestImages = "t10k-images-idx3-ubyte";
const char* const kTestLabels = "t10k-labels-idx1-ubyte";

/// The message of the ConfigError that reading throws; any other outcome fails the test.
std::string error_of(const std::filesystem::path& root, std::int64_t num_classes = 0) {
    try {
        read_idx(root, num_classes);
    } catch (const ConfigError& error) {
        return error.what();
    }
    FAIL("read_idx accepted " << root.string());
    return {};
}

/// Replaces one file of a fresh fixture, plain and compressed; the error must name the file and contain `text`.
void check_refused(const std::string& name, const Bytes& content, const std::string& text = "") {
    for (const bool compressed : {false, true}) {
        const IdxFixture fixture(compressed);
        fixture.put(name, content);
        const std::string message = error_of(fixture.root());
        CHECK_MESSAGE(message.starts_with(fixture.file(name) + ": "), message);
        CHECK_MESSAGE(message.find(text) != std::string::npos, message);
        CHECK_MESSAGE_IS("data", "", message);
    }
}

Bytes without_tail(Bytes bytes, std::size_t count) {
    bytes.resize(bytes.size() - count);
    return bytes;
}

Bytes with_word(Bytes bytes, std::size_t position, std::uint32_t word) {
    for (std::size_t i = 0; i < 4; ++i) bytes[4 * position + i] = static_cast<std::uint8_t>(word >> (24 - 8 * i));
    return bytes;
}

}  // namespace

TEST_SUITE("Idx") {
    TEST_CASE("ConformsAsADataset") {
        for (const bool compressed : {false, true}) {
            const IdxFixture fixture(compressed);
            conformance::check_repeatable([&] { return read_idx(fixture.root()); });
        }
    }

    TEST_CASE("BytesShapeAndLabelsAreThoseOfTheFiles") {
        for (const bool compressed : {false, true}) {
            const IdxFixture fixture(compressed);
            const Dataset data = read_idx(fixture.root());
            CHECK(data.num_classes == 3);
            CHECK(data.train.shape == ExampleShape{1, 4, 3});
            CHECK(data.train.labels == std::vector<std::int32_t>{0, 1, 2, 2, 1, 0});
            CHECK(data.test.labels == std::vector<std::int32_t>{2, 0});
            const Bytes images = idx_images(6, 4, 3, 0), test_images = idx_images(2, 4, 3, 99);
            CHECK(data.train.values == Bytes(images.begin() + 16, images.end()));
            CHECK(data.test.values == Bytes(test_images.begin() + 16, test_images.end()));
        }
    }

    TEST_CASE("GivenClassCountIsKept") {
        const IdxFixture fixture(false);
        CHECK(read_idx(fixture.root(), 10).num_classes == 10);
        CHECK(read_idx(fixture.root(), 3).num_classes == 3);
    }

    TEST_CASE("PlainFileWinsOverCompressedOne") {
        const IdxFixture fixture(false);
        write_gzip(fixture.root() / "t10k-labels-idx1-ubyte.gz", idx_labels({1, 1}));
        CHECK(read_idx(fixture.root()).test.labels == std::vector<std::int32_t>{2, 0});
    }

    TEST_CASE("LayoutsMayBeMixed") {
        const IdxFixture fixture(false);
        std::filesystem::remove(fixture.file(kTestLabels));
        write_gzip(fixture.root() / "t10k-labels-idx1-ubyte.gz", idx_labels({1, 1}));
        CHECK(read_idx(fixture.root()).test.labels == std::vector<std::int32_t>{1, 1});
    }

    /// Renames the fixture's files.
    const auto renamed = [](const IdxFixture& fixture, const std::string& part, const std::string& other) {
        for (const char* kind : {"images-idx3-ubyte", "labels-idx1-ubyte"}) {
            std::filesystem::rename(fixture.file(part + "-" + kind), fixture.file(other + kind));
        }
    };

    TEST_CASE("NamesOfEmnistAndKaggleAreRead") {
        for (const bool compressed : {false, true}) {
            const std::uint64_t fingerprint = read_idx(IdxFixture(compressed).root()).fingerprint();
            const IdxFixture emnist(compressed);
            renamed(emnist, "train", "emnist-balanced-train-");
            renamed(emnist, "t10k", "emnist-balanced-test-");
            CHECK(read_idx(emnist.root()).fingerprint() == fingerprint);
            const IdxFixture kaggle(compressed);
            for (const std::string part : {"train-", "t10k-"})
                for (const std::string kind : {"images", "labels"}) {
                    const std::string ending = kind == "images" ? "idx3-ubyte" : "idx1-ubyte";
                    const std::string name = kaggle.file(part + kind + "-" + ending);
                    std::filesystem::rename(name, kaggle.file(part + kind + "." + ending));
                    std::filesystem::create_directory(name);  // as in Kaggle's archive
                }
            CHECK(read_idx(kaggle.root()).fingerprint() == fingerprint);
        }
    }

    TEST_CASE("FilesOfSeveralSetsAreRefused") {
        const IdxFixture fixture(true);
        renamed(fixture, "train", "emnist-balanced-train-");
        renamed(fixture, "t10k", "emnist-letters-test-");
        CHECK_MESSAGE_IS("data", "several sets", error_of(fixture.root()));
        renamed(fixture, "emnist-letters-test", "emnist-balanced-test-");
        std::filesystem::remove(fixture.file("emnist-balanced-test-labels-idx1-ubyte"));
        const std::string message = error_of(fixture.root());
        CHECK_MESSAGE_IS("data", "", message);
    }

    TEST_CASE("BodyOfSeveralChunksIsWhole") {
        for (const bool compressed : {false, true}) {
            const IdxFixture fixture(compressed);
            const Bytes images = idx_images(70, 512, 512, 1);  // 17.5 MiB
            fixture.put(kTrainImages, images);
            fixture.put(kTrainLabels, idx_labels(Bytes(70, 2)));
            fixture.put(kTestImages, idx_images(2, 512, 512, 2));
            CHECK(read_idx(fixture.root()).train.values == Bytes(images.begin() + 16, images.end()));
        }
    }

    TEST_CASE("MissingFolderSaysHowToFetchIt") {
        const TemporaryFolder folder;
        for (const char* name : {"mnist", "mnist/"}) {
            const std::string message = error_of(folder.path() / name);
            CHECK_MESSAGE_IS("data", "", message);
            CHECK_MESSAGE(message.find("fedhive data mnist") != std::string::npos, message);
        }
        CHECK(error_of(folder.path() / "fashion-mnist").find("`fedhive data fashion_mnist`") != std::string::npos);
        CHECK(error_of(folder.path() / "emnist-letters").find("`fedhive data emnist_letters`") != std::string::npos);
        const std::string message = error_of(folder.path() / "other");
        CHECK_MESSAGE(message.find("train-images-idx3-ubyte") != std::string::npos, message);
        CHECK_MESSAGE(message.find("MNIST: `fedhive data mnist`") != std::string::npos, message);
    }

    TEST_CASE("MissingFileIsNamed") {
        for (const char* name : {kTrainImages, kTrainLabels, kTestImages, kTestLabels}) {
            for (const bool compressed : {false, true}) {
                const IdxFixture fixture(compressed);
                std::filesystem::remove(fixture.file(name));
                const std::string message = error_of(fixture.root());
                CHECK_MESSAGE_IS("data", "", message);
            }
        }
    }

    TEST_CASE("WrongMagicIsRefused") {
        check_refused(kTrainImages, with_word(idx_images(6, 4, 3, 0), 0, 0x801));
        check_refused(kTrainLabels, with_word(idx_labels({0, 1, 2, 2, 1, 0}), 0, 0x803));
        check_refused(kTestImages, with_word(idx_images(2, 4, 3, 0), 0, 0x03080000));
    }

    TEST_CASE("TruncationIsRefused") {
        check_refused(kTrainImages, without_tail(idx_images(6, 4, 3, 0), 1));
        check_refused(kTestLabels, without_tail(idx_labels({2, 0}), 1));
        check_refused(kTrainImages, Bytes(10));
        check_refused(kTrainImages, without_tail(idx_images(0, 4, 3, 0), 5));
        check_refused(kTrainLabels, {0, 0});
    }

    TEST_CASE("TrailingBytesAreRefused") {
        Bytes images = idx_images(6, 4, 3, 0), labels = idx_labels({2, 0});
        images.push_back(0);
        labels.push_back(1);
        check_refused(kTrainImages, images);
        check_refused(kTestLabels, labels);
    }

    TEST_CASE("CountsThatDifferAreRefused") {
        check_refused(kTrainLabels, idx_labels({0, 1, 2}));
        check_refused(kTestLabels, idx_labels({0, 1, 2}));
    }

    TEST_CASE("EmptyAndGiantSizesAreRefused") {
        check_refused(kTrainImages, idx_images(0, 4, 3, 0));
        check_refused(kTrainImages, idx_images(6, 4, 0, 0));
        check_refused(kTrainImages, with_word(idx_images(6, 4, 3, 0), 2, 0xFFFFFFFF));
    }

    TEST_CASE("PromisesBeyondTheFileAreRefusedWithoutTheMemory") {
        // Six images of 65535 x 65535 would be 25.8 GB.
        Bytes images = idx_images(6, 4, 3, 0);
        for (const std::size_t position : {2U, 3U}) images = with_word(images, position, 0xFFFF);
        for (const bool compressed : {false, true}) {
            const IdxFixture fixture(compressed);
            fixture.put(kTrainImages, images);
            const std::string message = error_of(fixture.root());
            CHECK_MESSAGE(message.find("is truncated: ") != std::string::npos, message);
            CHECK_MESSAGE(message.find(compressed ? "promises 25769017350" : "promises 25769017366") != std::string::npos,
                          message);
        }
    }

    TEST_CASE("LabelsOutsideTheClassesAreRefused") {
        for (const bool compressed : {false, true}) {
            const IdxFixture damaged(compressed);
            damaged.put(kTestLabels, idx_labels({0, 3}));
            CHECK(error_of(damaged.root()).starts_with(damaged.file(kTestLabels) + ": example 1 has the label 3"));
        }
        const IdxFixture fixture(false);
        CHECK_THROWS_WITH_AS(read_idx(fixture.root(), 2), doctest::Contains("example 2 has the label 2; allowed: 0 to 1"),
                             ConfigError);
        fixture.put(kTestLabels, idx_labels({0, 3}));
        CHECK_THROWS_WITH_AS(read_idx(fixture.root()), doctest::Contains("example 1 has the label 3; allowed: 0 to 2"),
                             ConfigError);
    }

    TEST_CASE("TestShapeThatDiffersIsRefused") {
        const IdxFixture fixture(false);
        fixture.put(kTestImages, idx_images(2, 3, 4, 0));
        CHECK_THROWN_MESSAGE("data", "", ConfigError, read_idx(fixture.root()));
    }

    TEST_CASE("DamagedGzipStreamsAreRefused") {
        const IdxFixture fixture(true);
        const std::string path = fixture.file(kTrainImages);
        const Bytes whole = read_bytes(path);
        const auto expect = [&](const Bytes& content, const char* text) {
            write_bytes(path, content);
            const std::string message = error_of(fixture.root());
            CHECK_MESSAGE(message.starts_with(path + ": "), message);
            CHECK_MESSAGE(message.find(text) != std::string::npos, message);
        };
        // Every proper prefix, including the one that lacks the last byte of the checksum.
        for (std::size_t size = 2; size < whole.size(); ++size)
            expect(without_tail(whole, whole.size() - size), "is truncated");
        Bytes wrong_checksum = whole;
        wrong_checksum[whole.size() - 8] ^= 1;
        expect(wrong_checksum, "expected an intact gzip file");
        expect(idx_images(6, 4, 3, 0), "is not gzip-compressed");
        expect({}, "is not gzip-compressed");
    }

    TEST_CASE("CompressedContentUnderAPlainNameIsRefused") {
        const IdxFixture fixture(false);
        write_gzip(fixture.file(kTrainLabels), idx_labels({0, 1, 2, 2, 1, 0}));
        CHECK_THROWS_WITH_AS(read_idx(fixture.root()), doctest::Contains("is gzip-compressed, but its name"), ConfigError);
    }

    TEST_CASE("FolderOrPipeInPlaceOfAFileIsRefused") {
        for (const bool compressed : {false, true}) {
            const IdxFixture fixture(compressed);
            const std::string labels = fixture.file(kTrainLabels);
            std::filesystem::remove(labels);
            std::filesystem::create_directory(labels);
            CHECK_THROWS_WITH_AS(read_idx(fixture.root()), doctest::Contains((labels + ": is a folder").c_str()), ConfigError);
            std::filesystem::remove(labels);
            REQUIRE(mkfifo(labels.c_str(), 0600) == 0);
            CHECK_THROWN_MESSAGE("data", "", ConfigError, read_idx(fixture.root()));
        }
    }

    TEST_CASE("FileOfHolesIsRefusedWithoutTheMemory") {
        const IdxFixture fixture(false);
        Bytes images = with_word(idx_images(6, 4, 3, 0), 1, 2000);
        for (const std::size_t position : {2U, 3U}) images = with_word(images, position, 0xFFFF);
        fixture.put(kTrainImages, images);
        fixture.put(kTrainLabels, with_word(idx_labels({}), 1, 2000));
        if (truncate(fixture.file(kTrainImages).c_str(), 16 + off_t{2000} * 65535 * 65535) != 0)
            FEDHIVE_SKIP("this file system has no files of 9 TB");
        CHECK_THROWS_WITH_AS(read_idx(fixture.root()), doctest::Contains("bytes of memory are available"), ConfigError);
    }
}

}  // namespace fedhive::clients
