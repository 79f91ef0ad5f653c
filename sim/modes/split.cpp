// Split learning: O. Gupta and R. Raskar 2018, arXiv:1810.06060; in rounds that average both halves, C. Thapa et al. 2020,
// "SplitFed: When Federated Learning Meets Split Learning", arXiv:2004.12088.
#include "sim/modes/mode_spec.h"

namespace fedhive::sim {

namespace {

Traffic model_and_activations(const Trip& trip) {
    const std::uint64_t bytes = trip.model_bytes + trip.examples * trip.activation_bytes;
    return {bytes, bytes};
}

Mode build_split(const ModeInput& input) {
    Mode mode;
    mode.in_flight = mode.quorum = input.cohort;
    mode.tasks = {clients::TaskKind::LowerHalf, clients::TaskKind::UpperHalf};
    mode.group = WorkerGroup::Slot;
    mode.traffic = model_and_activations;
    return mode;
}

}  // namespace

ModeSpec split() {
    return {.name = "split",
            .summary = "a client has the first layers, the server the others (arXiv:2004.12088)",
            .keys = {{.name = "cut",
                      .default_value = "",
                      .required = true,
                      .doc = "The last layer of the client's half, by its name in the model's tensors, such as conv2. The "
                             "server has the layers after it."}},
            .averages_buffers = false,
            .limits = {{"training.clip_norm", {}, "each half would clip its own gradient"},
                       {"training.graph", {"false"}, "a step that two processes share cannot be recorded"},
                       {"training.precision", {"f32", "tf32"}, "the two halves exchange values in f32"}},
            .any_workers = false,
            .gradient_vectors = 2,
            .build = build_split};
}

}  // namespace fedhive::sim
