// FedAsync: C. Xie et al. 2019, "Asynchronous Federated Optimization", arXiv:1903.03934, Algorithm 1.
//
//   a client started from version t - tau arrives with its model x:    alpha_t <- alpha s(tau)
//   w_t <- (1 - alpha_t) w_{t-1} + alpha_t x
#include "aggregation/math/mixing.h"
#include "sim/modes/mode_spec.h"

namespace fedhive::sim {

ModeSpec async() {
    ModeSpec spec{.name = "async",
                  .summary = "every arrival is mixed into the model (FedAsync, arXiv:1903.03934)",
                  .keys = staleness_keys(),
                  .steps_by_arrival = true,
                  .discounts = true,
                  .rate_key = "mode.alpha",
                  .same_bits = SameBits::BySameOrder,
                  .build =
                      [](const ModeInput& input) {
                          Mode mode;
                          mode.in_flight = input.cohort;
                          mode.late_join = true;
                          mode.drain = input.values.choice<AtEnd>("at_end") == AtEnd::Drain;
                          mode.staleness = staleness_of(input.values);
                          mode.payload = clients::Payload::Model;
                          return mode;
                      },
                  .take_over =
                      [](Strategy& strategy, const ModeInput& input, const aggregation::Arena&) {
                          strategy.aggregator = aggregation::make_single_update();
                          strategy.server_optimizer = aggregation::make_server_mix(input.values.number("alpha"));
                      }};
    spec.keys.push_back(at_end_key());
    spec.keys.push_back({.name = "alpha",
                         .default_value = 0.6,
                         .range = fraction(),
                         .doc = "Weight of a fresh update in the new model (α), typically 0.6."});
    return spec;
}

}  // namespace fedhive::sim
