// Reader of CSV tables. Input: a byte of flags (1: header; 2: owners; 4: targets are numbers), then a file that serves as both
// parts. The label's column is "y", the owner's "who"; without a header 0 and 1.
#include "aggregation/base/error.h"
#include "clients/data/formats/csv.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/read_examples.h"

using namespace fedhive;

namespace {

void expect_whole_csv(const clients::Examples& part, std::int64_t num_classes) {
    fuzz::expect_examples(part, num_classes);
    fuzz::expect(part.type == clients::ValueType::F32, "features are numbers");
    fuzz::expect(part.owners.empty() || part.owners.size() == part.size(), "an owner for each label, or none");
}

}  // namespace

FEDHIVE_FUZZ_TARGET(csv)(const std::uint8_t* data, std::size_t size) {
    static const fuzz::MemoryFile file;
    if (size == 0) return 0;
    file.set({reinterpret_cast<const char*>(data) + 1, size - 1});
    const bool header = (data[0] & 1U) != 0, owners = (data[0] & 2U) != 0, numbers = (data[0] & 4U) != 0;
    const char* client = header ? "who" : "1";
    try {
        const clients::Dataset dataset =
            clients::read_csv_files({file.path(), file.path(), {header ? "y" : "0"}, owners ? client : "", header, numbers});
        expect_whole_csv(dataset.train, dataset.num_classes);
        expect_whole_csv(dataset.test, dataset.num_classes);
        fuzz::expect(dataset.train.owners.empty() != owners && dataset.test.owners.empty(), "owners where they are asked for");
    } catch (const ConfigError&) {
        return 0;
    }
    return 0;
}
