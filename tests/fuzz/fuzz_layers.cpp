// The direct engine on random lists of layers. Input: two bytes that seed examples and parameters, then the choices of the
// generator, one byte each, which the tests draw from seeds.
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/drawn_lists/comparison.h"

using namespace fedhive;

FEDHIVE_FUZZ_TARGET(layers)(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    std::size_t next = 2;
    const testing::Choose choose = [&](std::uint64_t below) { return next < size ? data[next++] % below : 0; };
    const clients::ModelSpec spec = testing::draw_model(choose, true);
    const testing::Comparison found = testing::compare({spec, testing::draw_batch_size(choose), data[0] * 256ULL + data[1]});
    fuzz::expect(found.fault.empty(), found.fault.c_str());
    return 0;
}
