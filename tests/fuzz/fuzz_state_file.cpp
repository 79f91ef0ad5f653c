// Reader of safetensors files.
#include "aggregation/base/error.h"
#include "sim/state/state_file.h"
#include "tests/fuzz/fuzz_target.h"

#include <algorithm>

using namespace fedhive;

FEDHIVE_FUZZ_TARGET(state_file)(const std::uint8_t* data, std::size_t size) {
    sim::StateFile state;
    try {
        state = sim::decode_state({reinterpret_cast<const char*>(data), size}, "input");
    } catch (const ConfigError&) {
        return 0;
    }
    const sim::StateFile again = sim::decode_state(sim::encode_state(state.tensors, state.metadata), "what encode_state wrote");
    const auto same = [](const sim::Tensor& left, const sim::Tensor& right) {
        return left.name == right.name && left.dtype == right.dtype && left.shape == right.shape && left.data == right.data;
    };
    fuzz::expect(again.metadata == state.metadata, "the same metadata");
    fuzz::expect(std::equal(again.tensors.begin(), again.tensors.end(), state.tensors.begin(), state.tensors.end(), same),
                 "the same tensors");
    return 0;
}
