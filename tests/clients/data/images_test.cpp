#include "clients/data/formats/images.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/shared_segment.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/conformance/dataset_conformance.h"
#include "tests/support/golden_messages.h"
#include "tests/support/places.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstdlib>

namespace fedhive::clients {

namespace {

namespace fs = std::filesystem;

/// A file of tests/clients/data/pictures.
std::string picture(const std::string& name) {
    return content_of(testing::source_folder() / "tests/clients/data/pictures" / name);
}

/// Grey images of 13 x 10 in two classes, cat and dog.
struct ImagesFixture {
    testing::TemporaryFolder folder;
    ImageFolders folders{folder.path() / "train", folder.path() / "test"};

    ImagesFixture() {
        for (const char* file : {"train/cat/1.png", "train/dog/1.png", "test/cat/1.png"}) put(file, picture("grey.png"));
    }
    void put(const fs::path& file, const std::string& content) const {
        fs::create_directories((folder.path() / file).parent_path());
        write_content(folder.path() / file, content);
    }
    std::string path(const std::string& file) const { return (folder.path() / file).string(); }
    void expect_refused(const std::string& file) const {
        CHECK_THROWN_MESSAGE("data", file + ": ", ConfigError, read_images(folders));
    }
    /// Expects that one file with this content, beside valid ones, makes reading throw a message that names the file.
    void expect_file_refused(const std::string& file, const std::string& content) const {
        put(file, content);
        expect_refused(path(file));
        fs::remove(folder.path() / file);
    }
};

/// Reads the picture as the only one of a part.
Examples read_picture(const std::string& name, std::optional<std::int64_t> channels) {
    const testing::TemporaryFolder folder;
    fs::create_directories(folder.path() / "all");
    write_content(folder.path() / "all" / name, picture(name));
    return read_images({folder.path(), folder.path(), channels}).train;
}

/// Largest difference of a pixel from Pillow's result for the same file.
int largest_difference(const std::string& name, std::int64_t channels, bool given = true) {
    const Examples read = read_picture(name, given ? std::optional(channels) : std::nullopt);
    const std::string pixels = picture(name + ".pixels");
    REQUIRE(read.shape == ExampleShape{channels, 13, 10});
    REQUIRE(read.values.size() == pixels.size());
    int largest = 0;
    const auto each = static_cast<std::size_t>(channels);
    for (std::size_t at = 0; at < pixels.size(); ++at) {
        const std::size_t pixel = at / each, channel = at % each;
        const int difference = read.values[channel * 130 + pixel] - static_cast<unsigned char>(pixels[at]);
        largest = std::max(largest, std::abs(difference));
    }
    return largest;
}

std::string big_endian(std::uint32_t number) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> static_cast<unsigned>(shift));
    return bytes;
}

std::string png_chunk(const std::string& kind, const std::string& data) {
    const std::string body = kind + data;
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
    return big_endian(static_cast<std::uint32_t>(data.size())) + body + big_endian(static_cast<std::uint32_t>(sum));
}

/// A PNG whose header promises this size at three bytes per pixel, without any pixels.
std::string promising_png(std::uint32_t height, std::uint32_t width) {
    return picture("grey.png").substr(0, 8) +
           png_chunk("IHDR", big_endian(width) + big_endian(height) + std::string("\x08\x02\0\0\0", 5)) + png_chunk("IDAT", "");
}

}  // namespace

TEST_SUITE("Images") {
    TEST_CASE("PixelsOfPngAreThoseOfPillow") {
        for (const char* name :
             {"colour.png", "alpha.png", "palette.png", "palette_alpha.png", "gamma.png", "interlaced.png"}) {
            CAPTURE(name);
            CHECK(largest_difference(name, 3, false) == 0);
        }
        for (const char* name : {"grey.png", "grey_alpha.png", "two_colours.png"}) {
            CAPTURE(name);
            CHECK(largest_difference(name, 1, false) == 0);
        }
        CHECK(largest_difference("colour_as_grey.png", 1) == 0);
        CHECK(largest_difference("grey_as_colour.png", 3) == 0);
    }

    TEST_CASE("PixelsOfJpegAreThoseOfPillowButForTheDecodersRounding") {
        CHECK(largest_difference("grey.jpg", 1, false) <= 2);
        CHECK(largest_difference("smooth_as_grey.jpg", 1) <= 2);
        for (const char* name : {"smooth.jpg", "whole_chroma.jpg", "progressive.jpg"}) {
            CAPTURE(name);
            CHECK(largest_difference(name, 3, false) <= 2);
        }
    }

    TEST_CASE("ClassesAndFilesComeInTheOrderOfTheirNames") {
        const ImagesFixture fixture;
        fixture.put("train/Zebra/b.JPG", picture("grey.jpg"));
        fixture.put("train/dog/10.png", picture("two_colours.png"));
        fixture.put("train/dog/2.jpeg", picture("grey.jpg"));
        fixture.put("train/dog/.hidden", "no image");
        fixture.put("train/.cache/1.png", "no image");
        fixture.put("test/dog/1.png", picture("two_colours.png"));
        conformance::check_repeatable([&] { return read_images(fixture.folders); });
        const Dataset dataset = read_images(fixture.folders);
        CHECK(dataset.num_classes == 3);
        CHECK(dataset.train.shape == ExampleShape{1, 13, 10});
        CHECK(dataset.train.type == ValueType::U8);
        CHECK(dataset.train.labels == std::vector<std::int32_t>{0, 1, 2, 2, 2});
        CHECK(dataset.test.labels == std::vector<std::int32_t>{1, 2});
        CHECK(dataset.train.owners.empty());
        const auto image = [](const Examples& part, std::size_t at) {
            const auto begin = part.values.begin() + static_cast<std::ptrdiff_t>(at * 130);
            return std::vector<std::uint8_t>(begin, begin + 130);
        };
        CHECK(image(dataset.train, 1) == image(dataset.train, 2));                               // cat/1, dog/1
        CHECK(image(dataset.train, 3) == read_picture("two_colours.png", std::nullopt).values);  // dog/10
        CHECK(image(dataset.train, 4) == image(dataset.train, 0));                               // dog/2, Zebra/b
    }

    TEST_CASE("FileThatIsCutOffOrDamagedIsNamed") {
        const ImagesFixture fixture;
        for (const std::string name : {"grey.png", "grey.jpg", "progressive.jpg"}) {
            const std::string whole = picture(name), file = "train/cat/2." + name.substr(name.size() - 3);
            fixture.put(file, whole);
            if (name.starts_with("grey")) CHECK_NOTHROW(read_images(fixture.folders));
            for (std::size_t size = 0; size < whole.size(); ++size) {
                CAPTURE(size);
                fixture.put(file, whole.substr(0, size));
                CHECK_THROWS_WITH_AS(read_images(fixture.folders), doctest::Contains((fixture.path(file) + ": ").c_str()),
                                     ConfigError);
            }
            for (std::size_t at = 0; at < whole.size() && name == "grey.png"; ++at) {
                CAPTURE(at);
                std::string damaged = whole;
                damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
                fixture.put(file, damaged);
                CHECK_THROWS_WITH_AS(read_images(fixture.folders), doctest::Contains((fixture.path(file) + ": ").c_str()),
                                     ConfigError);
            }
            fs::remove(fixture.path(file));
        }
    }

    TEST_CASE("FileThatIsNotWhatItsNameSaysIsRefused") {
        const ImagesFixture fixture;
        fixture.expect_file_refused("train/cat/2.png", picture("grey.jpg"));
        fixture.expect_file_refused("train/cat/2.jpg", picture("grey.png"));
        fixture.expect_file_refused("train/cat/2.jpg", "");
        fixture.expect_file_refused("train/cat/2.png", "GIF89a");
        fixture.expect_file_refused("train/cat/2.gif", "GIF89a");
        fixture.expect_file_refused("train/cat/2.png", picture("sixteen_bits.png"));
        fixture.expect_file_refused("train/cat/2.jpg", picture("cmyk.jpg"));
    }

    TEST_CASE("ImagesOfDifferentSizesAndColoursAreRefusedWithBothFiles") {
        ImagesFixture fixture;
        const std::string first = fixture.path("train/cat/1.png");
        fixture.expect_file_refused("test/dog/2.png", promising_png(12, 10));
        fixture.expect_file_refused("train/dog/2.png", picture("colour.png"));
        fixture.put("train/dog/2.png", picture("colour.png"));
        fixture.put("train/dog/3.png", "");  // only the first error is reported
        fixture.expect_refused(fixture.path("train/dog/2.png"));
        fs::remove(fixture.path("train/dog/3.png"));
        fixture.folders.channels = 3;
        CHECK(read_images(fixture.folders).train.shape == ExampleShape{3, 13, 10});
    }

    TEST_CASE("MorePixelsThanAllowedOrThanMemoryHoldsAreRefusedBeforeTheyAreDecoded") {
        const ImagesFixture fixture;
        fixture.expect_file_refused("train/cat/0.png", promising_png(5000, 4000));
        std::string jpeg = picture("grey.jpg");
        const std::size_t head = jpeg.find("\xff\xc0");
        REQUIRE(head != std::string::npos);
        jpeg.replace(head + 5, 4, "\xff\xdc\xff\xdc");
        fixture.expect_file_refused("train/cat/0.jpg", jpeg);
        const std::uint64_t images = aggregation::available_memory_bytes() / (2 * 3 * (std::uint64_t{1} << 24)) + 100;
        if (images > 20'000) FEDHIVE_SKIP("there is more than 2 TB of memory");
        const std::string promise = promising_png(4096, 4096);
        for (std::uint64_t i = 0; i < images; ++i) fixture.put(fmt::format("train/cat/0_{}.png", i), promise);
        CHECK_THROWS_WITH_AS(read_images(fixture.folders), doctest::Contains(" images of 50331648 bytes need "), ConfigError);
    }

    TEST_CASE("FoldersOfAnotherFormAreRefused") {
        ImagesFixture fixture;
        fixture.expect_file_refused("train/notes.txt", "x");
        fixture.expect_file_refused("train/cat/notes.txt", "x");
        fixture.put("test/cow/1.png", picture("grey.png"));
        fixture.expect_refused(fixture.path("test/cow"));
        fs::remove_all(fixture.path("test/cow"));
        fs::create_directory(fixture.path("test/dog"));
        CHECK_NOTHROW(read_images(fixture.folders));
        fs::remove_all(fixture.path("test/cat"));
        fixture.expect_refused(fixture.path("test"));
        fs::create_directory(fixture.path("train/eel"));
        fixture.expect_refused(fixture.path("train/eel"));
        fixture.folders.train = fixture.path("test/dog");
        fixture.expect_refused(fixture.path("test/dog"));
        fixture.folders.train = fixture.path("nowhere");
        fixture.expect_refused(fixture.path("nowhere"));
    }
}

}  // namespace fedhive::clients
