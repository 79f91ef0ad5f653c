// Reader of torch.export files. Input: a byte for the form, then either a whole archive, or the parts of one: length of the
// graph's JSON (three bytes, big-endian) and the JSON, length of the weights' JSON (two bytes) and the
// JSON, then the only storage.
#include "aggregation/base/error.h"
#include "clients/exported/program.h"
#include "clients/models/model_plan.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/zip_archive.h"

#include <algorithm>
#include <string>
#include <string_view>

using namespace fedhive;

namespace {

/// The next part; its length precedes it in `digits` bytes.
std::string_view next(std::string_view& rest, std::size_t digits) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < digits && i < rest.size(); ++i) length = 256 * length + static_cast<unsigned char>(rest[i]);
    rest.remove_prefix(std::min(digits, rest.size()));
    const std::string_view part = rest.substr(0, length);
    rest.remove_prefix(part.size());
    return part;
}

std::string archive_of_parts(std::string_view rest) {
    const std::string_view graph = next(rest, 3), weights = next(rest, 2);
    return testing::archive_of({{"n/archive_format", "pt2"},
                                {"n/byteorder", "little"},
                                {"n/models/model.json", std::string(graph)},
                                {"n/data/weights/model_weights_config.json", std::string(weights)},
                                {"n/data/constants/model_constants_config.json", R"({"config": {}})"},
                                {"n/data/weights/weight_0", std::string(rest)}});
}

}  // namespace

FEDHIVE_FUZZ_TARGET(exported)(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::string bytes = (data[0] & 1U) != 0 ? std::string(rest) : archive_of_parts(rest);
    try {
        const clients::exported::Program program = clients::exported::read_program(std::as_bytes(std::span(bytes)));
        for (const clients::exported::StoredTensor& tensor : program.tensors)
            fuzz::expect(
                program.values_of(tensor).size() == tensor.num_values() * clients::exported::bytes_of_dtype(tensor.dtype),
                "as many values as the shape says");
        fuzz::expect(clients::exported::layout_of(program, {clients::exported::Role::Trained}).num_parameters() > 0,
                     "something to train");
        clients::exported::other_tensors(program);
        clients::ModelSpec spec;
        const auto side = [&](std::size_t place) { return place < program.input.size() ? program.input[place] % 64 : 1; };
        spec.input = {side(0), side(1), side(2), program.takes_tokens ? 11 : 0};
        spec.num_classes = 2;
        clients::kept_as_graph(spec, program);
        fuzz::expect(!program.operations().empty() || program.graph.nodes.empty(), "operations that can be counted");
    } catch (const ConfigError&) {
        return 0;
    }
    return 0;
}
