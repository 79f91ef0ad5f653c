// Reader of LEAF's JSON. Input: a byte for the start of the second part, in 1/256 of the rest (0: both parts are the whole
// rest), then the bytes of both files.
#include "aggregation/base/error.h"
#include "clients/data/formats/leaf.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/read_examples.h"

#include <algorithm>

using namespace fedhive;

namespace {

void expect_whole_leaf(const clients::Examples& part, std::int64_t num_classes) {
    fuzz::expect_examples(part, num_classes);
    if (part.shape.vocabulary == 0) return;
    fuzz::expect(part.shape.vocabulary == num_classes && part.type == clients::ValueType::U8, "tokens for characters");
    fuzz::expect(std::ranges::all_of(part.values, [&](std::uint8_t token) { return token < num_classes; }),
                 "tokens of the vocabulary");
}

}  // namespace

FEDHIVE_FUZZ_TARGET(leaf)(const std::uint8_t* data, std::size_t size) {
    static const fuzz::MemoryFile train, test;
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::size_t cut = data[0] == 0 ? 0 : rest.size() * data[0] / 256;
    train.set(cut == 0 ? rest : rest.substr(0, cut));
    test.set(rest.substr(cut));
    try {
        const clients::Dataset dataset = clients::read_leaf({train.path(), test.path()});
        expect_whole_leaf(dataset.train, dataset.num_classes);
        expect_whole_leaf(dataset.test, dataset.num_classes);
        const std::vector<std::uint32_t>& owners = dataset.train.owners;
        fuzz::expect(owners.size() == dataset.train.size() && dataset.test.owners.empty(), "an owner for each example");
        const std::uint32_t last = *std::ranges::max_element(owners);
        for (std::uint32_t owner = 0; owner <= last; ++owner)
            fuzz::expect(std::ranges::count(owners, owner) > 0, "an example for each owner");
    } catch (const ConfigError&) {
        return 0;
    }
    return 0;
}
