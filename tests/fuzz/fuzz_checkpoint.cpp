// Reader of checkpoints. A fuzzer cannot guess a SHA-256, so each input is read twice: as it is, and with the right hash.
#include "aggregation/base/error.h"
#include "sim/state/checkpoint.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "tests/support/right_hash.h"

using namespace fedhive;

namespace {

/// The model of the corpus.
aggregation::Layout small_layout() {
    aggregation::Layout layout;
    layout.add("fc.weight", {2, 3});
    layout.add("fc.bias", {2});
    layout.add("scale", {});
    return layout;
}

/// An accepted checkpoint can be written again and reads back the same.
void expect_same_again(const sim::Checkpoint& checkpoint, std::span<const sim::NamedVector> vectors,
                       const aggregation::Layout& layout, const fuzz::MemoryFile& file) {
    const std::string content = sim::encode_checkpoint(checkpoint, layout, vectors).whole();
    file.set(content);
    const sim::CheckpointFile again = sim::read_checkpoint(file.path());
    fuzz::expect(sim::encode_checkpoint(again.checkpoint, layout, vectors).whole() == content,
                 "a checkpoint read again is the same");
}

void read(std::string_view content, const fuzz::MemoryFile& file) {
    static const aggregation::Layout layout = small_layout();
    file.set(content);
    try {
        const sim::CheckpointFile found = sim::read_checkpoint(file.path());
        const std::vector<float> model = sim::read_vector(found, "model", layout);
        expect_same_again(found.checkpoint, std::vector<sim::NamedVector>{{"model", model}}, layout, file);
    } catch (const ConfigError&) {
        return;
    }
}

}  // namespace

FEDHIVE_FUZZ_TARGET(checkpoint)(const std::uint8_t* data, std::size_t size) {
    static const fuzz::MemoryFile file;
    const std::string content(reinterpret_cast<const char*>(data), size);
    read(content, file);
    read(testing::with_right_hash(content), file);
    return 0;
}
