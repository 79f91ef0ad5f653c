// Reader of image folders. Input: a byte of flags (1: the file's name says JPEG, else PNG; 2: channels are given; 4: three of
// them, else one), then the file, which is the only one of both parts.
#include "aggregation/base/error.h"
#include "clients/data/formats/images.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "tests/support/temporary_folder.h"

using namespace fedhive;

namespace {

struct OneImage {
    testing::TemporaryFolder png, jpeg;
    fuzz::MemoryFile file;

    OneImage() {
        for (const auto& [folder, name] : {std::pair(&png, "1.png"), std::pair(&jpeg, "1.jpg")}) {
            std::filesystem::create_directory(folder->path() / "all");
            std::filesystem::create_symlink(file.path(), folder->path() / "all" / name);
        }
    }
};

}  // namespace

FEDHIVE_FUZZ_TARGET(images)(const std::uint8_t* data, std::size_t size) {
    static const OneImage image;
    if (size == 0) return 0;
    image.file.set({reinterpret_cast<const char*>(data) + 1, size - 1});
    const std::filesystem::path& folder = (data[0] & 1U) != 0 ? image.jpeg.path() : image.png.path();
    std::optional<std::int64_t> channels;
    if ((data[0] & 2U) != 0) channels = (data[0] & 4U) != 0 ? 3 : 1;
    try {
        const clients::Dataset dataset = clients::read_images({folder, folder, channels});
        const clients::Examples& train = dataset.train;
        fuzz::expect(train.size() == 1 && train.values.size() == train.shape.num_values(), "an image");
        fuzz::expect(train.shape.channels == channels.value_or(train.shape.channels), "the channels that are asked for");
        fuzz::expect(train.shape.channels == 1 || train.shape.channels == 3, "grey or colours");
        fuzz::expect(train.values == dataset.test.values, "the same pixels of the same file");
    } catch (const ConfigError&) {
        return 0;
    }
    return 0;
}
