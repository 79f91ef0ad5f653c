// DistributedDataParallel: S. Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training",
// arXiv:2006.15704: replicas that average their gradients in every step, and so stay equal.
#include "aggregation/math/mixing.h"
#include "aggregation/math/server_copy.h"
#include "sim/modes/mode_spec.h"

namespace fedhive::sim {

namespace {

/// The region after the two models.
constexpr std::uint32_t kVelocityRegion = 2;

/// All ranks together read 2 (R - 1) gradients, whichever way they are summed.
Traffic all_reduce_in_every_step(const Trip& trip) {
    return {trip.model_bytes, trip.steps * 2 * (trip.in_flight - 1) * trip.model_bytes / trip.in_flight};
}

Mode build_gradient_averaging(const ModeInput& input) {
    Mode mode;
    mode.in_flight = mode.quorum = input.cohort;
    mode.tasks = {clients::TaskKind::Replica};
    mode.group = WorkerGroup::Round;
    mode.bring = Bring::OneUpdate;
    mode.pass = PassExamples::Share;
    mode.traffic = all_reduce_in_every_step;
    mode.all_reduce = input.values.choice<clients::AllReduce>("all_reduce");
    if (aggregation::num_state_vectors(input.optimizer) > 0) mode.velocity_index = kVelocityRegion;
    return mode;
}

/// The server adopts the model in slot 0, with the momentum in slot 1.
void adopt(Strategy& strategy, const ModeInput& input, const aggregation::Arena& arena) {
    const bool momentum = aggregation::num_state_vectors(input.optimizer) > 0;
    strategy.aggregator = aggregation::make_single_update();
    strategy.server_optimizer =
        aggregation::make_server_copy(momentum ? arena.global(kVelocityRegion) : aggregation::ParamSpan(),
                                      momentum ? arena.slot(1) : aggregation::ParamSpan());
}

}  // namespace

ModeSpec gradient_averaging() {
    return {
        .name = "gradient_averaging",
        .summary = "replicas that average their gradients in every step (DistributedDataParallel, arXiv:2006.15704)",
        .keys = {{.name = "all_reduce",
                  .default_value = clients::AllReduce::Tree,
                  .choices = words_of<clients::AllReduce>(),
                  .doc = "How replicas sum their gradients. star: one replica collects and returns all sums, as in "
                         "DataParallel; ring: each replica adds its part and passes it on; tree: pairwise sums, with the same "
                         "bits as star. Can change the last bits."}},
        .all_clients = true,
        .weighs_updates = false,
        .averages_buffers = false,
        .rate_key = "training.optimizer.lr",
        .limits = {{"data.partition.scheme",
                    {"iid"},
                    "every pass splits the examples anew, with the same number for each replica"},
                   {"data.partition.sizes", {}, "every pass splits the examples anew, with the same number for each replica"},
                   {"devices.availability.scheme", {"always"}, "replicas train only together"},
                   {"failures.policy", {"abort", "retry"}, "replicas cannot continue without one of them"},
                   {"training.clip_norm", {}, "each replica would clip its own gradient"},
                   {"training.local_steps", {}, "replicas always pass over their whole shares"},
                   {"training.optimizer.name", aggregation::optimizers_with_sgd_steps(),
                    "the run has one optimiser, and replicas pass its momentum on"}},
        .any_workers = false,
        .gradient_vectors = 2,
        .velocity_vectors = 1,  // passed on at the end
        .build = build_gradient_averaging,
        .take_over = adopt};
}

}  // namespace fedhive::sim
