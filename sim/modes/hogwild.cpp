// Hogwild: F. Niu et al. 2011, "Hogwild!: A Lock-Free Approach to Parallelizing Stochastic Gradient Descent", arXiv:1106.5730,
// Algorithm 1: all workers read and write one model without a lock.
#include "sim/modes/mode_spec.h"

namespace fedhive::sim {

namespace {

/// The examples that a client trains on: its own, or all.
enum class HogwildData { Partitioned, Full };
constexpr auto all_words(HogwildData) { return std::array{"partitioned", "full"}; }

Traffic model_in_every_step(const Trip& trip) { return {trip.steps * trip.model_bytes, trip.steps * trip.model_bytes}; }

Mode build_hogwild(const ModeInput& input) {
    Mode mode;
    mode.in_flight = mode.quorum = input.cohort;
    mode.tasks = {clients::TaskKind::InPlace};
    mode.bring = Bring::Nothing;
    mode.traffic = model_in_every_step;
    if (input.values.choice<HogwildData>("data") == HogwildData::Full) mode.pass = PassExamples::All;
    return mode;
}

}  // namespace

ModeSpec hogwild() {
    return {.name = "hogwild",
            .summary = "all workers write one model without a lock (arXiv:1106.5730)",
            .keys = {{.name = "data",
                      .default_value = HogwildData::Partitioned,
                      .choices = words_of<HogwildData>(),
                      .doc = "partitioned: each client trains on its own examples; full: each client trains on all training "
                             "examples, in its own order."}},
            .weighs_updates = false,
            .averages_buffers = false,
            .rate_key = "training.optimizer.lr",
            .limits = {{"failures.policy",
                        {"abort", "drop"},
                        "the values that a failed client wrote into the shared model cannot be removed, so a retry would count "
                        "them twice"}},
            .same_bits = SameBits::Never,
            .any_workers = false,
            .gradient_vectors = 1,
            .build = build_hogwild};
}

}  // namespace fedhive::sim
