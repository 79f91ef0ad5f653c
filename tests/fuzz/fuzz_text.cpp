// Reader of plain text. Input: four bytes (characters of a window less 1; step less 1, whose second bit also selects targets at
// every position; characters of a block, 0 for speakers; share of the tests in 1/256), then the file.
#include "aggregation/base/error.h"
#include "clients/data/formats/text.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

#include <algorithm>

using namespace fedhive;

namespace {

void expect_whole_text(const clients::Examples& part, std::size_t sequence, std::int64_t vocabulary) {
    const auto known = [&](std::int64_t token) { return token >= 0 && token < vocabulary; };
    fuzz::expect(part.shape == clients::ExampleShape{static_cast<std::int64_t>(sequence), 1, 1, vocabulary},
                 "windows of tokens");
    fuzz::expect(part.size() > 0 && part.values.size() == part.size() * sequence, "a window for each label");
    fuzz::expect(std::ranges::all_of(part.values, known) && std::ranges::all_of(part.labels, known),
                 "tokens of the vocabulary");
}

}  // namespace

FEDHIVE_FUZZ_TARGET(text)(const std::uint8_t* data, std::size_t size) {
    static const fuzz::MemoryFile file;
    if (size < 4) return 0;
    file.set({reinterpret_cast<const char*>(data) + 4, size - 4});
    const std::size_t sequence = data[0] + std::size_t{1};
    try {
        const clients::Dataset dataset = clients::read_text(
            {file.path(), sequence, data[1] + std::size_t{1}, (data[3] + 0.5) / 256, data[2], (data[1] & 2U) != 0});
        expect_whole_text(dataset.train, sequence, dataset.num_classes);
        expect_whole_text(dataset.test, sequence, dataset.num_classes);
        const std::vector<std::uint32_t>& owners = dataset.train.owners;
        fuzz::expect(owners.size() == dataset.train.size() && owners.front() == 0 && std::ranges::is_sorted(owners),
                     "owners in order");
    } catch (const ConfigError&) {
        return 0;
    }
    return 0;
}
