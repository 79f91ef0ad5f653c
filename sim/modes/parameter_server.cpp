// A parameter server: M. Li et al. 2014, "Scaling Distributed Machine Learning with the Parameter Server", OSDI; with a bound
// on staleness, Q. Ho et al. 2013, "More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server", NeurIPS.
//
//   a client pulls w_v and pushes the gradient g of its next batch;  w_{v'+1} <- SGD(w_{v'}, g) at the present version v' >= v
#include "aggregation/math/gradient_step.h"
#include "sim/modes/mode_spec.h"

namespace fedhive::sim {

ModeSpec parameter_server() {
    return {.name = "parameter_server",
            .summary = "the server takes a step with each gradient as it arrives (Li et al. 2014)",
            .keys = {{.name = "max_staleness",
                      .default_value = std::optional<std::int64_t>(),
                      .range = between(0, kMost),
                      .default_note = "any",
                      .doc = "Largest number of server steps between a client's pull and its push; clients wait instead of "
                             "exceeding it. 0 is sequential SGD."}},
            .steps_by_arrival = true,
            .weighs_updates = false,
            .averages_buffers = false,
            .rate_key = "training.optimizer.lr",
            .limits = {{"training.optimizer.name", aggregation::optimizers_with_sgd_steps(),
                        "the server takes the steps with the clients' gradients"},
                       {"training.lr_schedule.name", {"constant"}, "the server's steps have one rate"},
                       {"training.lr_schedule.warmup_rounds", {"0"}, "the server's steps have one rate"}},
            .same_bits = SameBits::BySameOrder,
            .gradient_vectors = 2,
            .build =
                [](const ModeInput& input) {
                    Mode mode;
                    mode.in_flight = input.cohort;
                    mode.by_steps = true;
                    mode.tasks = {clients::TaskKind::Gradient};
                    if (const auto most = input.values.optional_integer("max_staleness"))
                        mode.max_staleness = static_cast<std::uint64_t>(*most);
                    return mode;
                },
            .take_over =
                [](Strategy& strategy, const ModeInput& input, const aggregation::Arena&) {
                    strategy.weighting = Weighting::Uniform;
                    strategy.server_optimizer =
                        aggregation::make_gradient_step(std::get<aggregation::SgdOptions>(input.optimizer));
                }};
}

}  // namespace fedhive::sim
