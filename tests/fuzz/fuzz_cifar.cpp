// Reader of CIFAR's binary files. Input: one byte for the layout, then the training file; the test file is valid.
#include "aggregation/base/error.h"
#include "clients/data/data_format.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "tests/support/temporary_folder.h"

#include <algorithm>

using namespace fedhive;

namespace {

/// CIFAR-100's two files in memory.
struct CifarFiles {
    testing::TemporaryFolder folder;
    fuzz::MemoryFile train, test;

    CifarFiles() {
        std::filesystem::create_symlink(train.path(), folder.path() / "train.bin");
        std::filesystem::create_symlink(test.path(), folder.path() / "test.bin");
        test.set(std::string(2 + 3 * 32 * 32, '\0'));
    }
};

}  // namespace

FEDHIVE_FUZZ_TARGET(cifar)(const std::uint8_t* data, std::size_t size) {
    static const CifarFiles files;
    if (size == 0) return 0;
    files.train.set(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
    const char* labels = (data[0] & 1U) != 0 ? "fine" : "coarse";
    try {
        const clients::Dataset read =
            clients::data_format("cifar100")
                .read({{"root", files.folder.path()}, {"labels", labels}}, 0, clients::TargetKind::Class);
        fuzz::expect(read.train.values.size() == read.train.size() * 3 * 32 * 32 && read.train.size() > 0,
                     "an image for each label");
        fuzz::expect(std::all_of(read.train.labels.begin(), read.train.labels.end(),
                                 [&](std::int32_t label) { return label >= 0 && label < read.num_classes; }),
                     "labels inside the classes");
    } catch (const ConfigError&) {
        return 0;
    }
    return 0;
}
