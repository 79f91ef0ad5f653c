// C++ side of roundtrip.py: writes files for the safetensors package, checks those it returns, and rewrites its files.
//
// usage: state_tool write FOLDER        writes state.safetensors and model.safetensors
//        state_tool check FILE          compares its tensors and metadata with those of state.safetensors
//        state_tool recode IN OUT       reads and writes again
//        state_tool judge FILE…         per file a line: `accepted`, or `refused` and why
#include "aggregation/base/error.h"
#include "sim/state/model_file.h"
#include "sim/state/state_file.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace {

using namespace fedhive::sim;

const std::map<std::string, std::string> kMetadata{{"format", "pt"}, {"größe", "\"7\"\n重"}};

std::vector<Tensor> sample_tensors() {
    static const std::string bytes = [] {
        std::string all(64, '\0');
        std::iota(all.begin(), all.end(), '\0');
        return all;
    }();
    const auto first = [](std::size_t count) { return std::string_view(bytes).substr(0, count); };
    return {{"bytes", "U8", {3}, first(3)},     {"floats", "F32", {2, 3}, first(24)},     {"scalar", "F64", {}, first(8)},
            {"empty", "I32", {0, 5}, first(0)}, {"größe/重み", "I64", {1, 2}, first(16)}, {"", "U64", {1}, first(8)},
            {"truth", "BOOL", {1, 2}, first(2)}};
}

void write(const std::filesystem::path& folder) {
    write_file(folder / "state.safetensors", encode_state(sample_tensors(), kMetadata));
    fedhive::aggregation::Layout layout;
    layout.add("fc.weight", {2, 3});
    layout.add("fc.bias", {2});
    std::vector<float> model(layout.num_floats());
    std::iota(model.begin(), model.end(), 0.5F);
    write_model(folder / "model.safetensors", {{layout, model}}, {{"round", "3"}});
}

bool check(const std::filesystem::path& file) {
    const StateFile state = read_state(file);
    const std::vector<Tensor> wanted = sample_tensors();
    return state.metadata == kMetadata && state.tensors.size() == wanted.size() &&
           std::all_of(wanted.begin(), wanted.end(), [&](const Tensor& tensor) {
               const Tensor* found = state.find(tensor.name);
               return found != nullptr && found->dtype == tensor.dtype && found->shape == tensor.shape &&
                      found->data == tensor.data;
           });
}

void judge(const std::filesystem::path& file) {
    try {
        read_state(file);
        std::puts("accepted");
    } catch (const fedhive::ConfigError& error) {
        std::printf("refused: %s\n", error.what());
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() < 2) return 2;
    if (arguments[0] == "check") return check(arguments[1]) ? 0 : 1;
    if (arguments[0] == "write") write(arguments[1]);
    if (arguments[0] == "judge") std::for_each(arguments.begin() + 1, arguments.end(), judge);
    if (arguments[0] == "recode") {
        const StateFile state = read_state(arguments[1]);
        write_file(arguments.at(2), encode_state(state.tensors, state.metadata));
    }
    return 0;
}
