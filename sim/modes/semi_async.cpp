// FedBuff: J. Nguyen et al. 2022, "Federated Learning with Buffered Asynchronous Aggregation", arXiv:2106.06639, Algorithm 1.
//
//   M clients in flight;  an arrival adds s(tau) Delta to the buffer and is replaced;  after K arrivals
//   w <- w + eta_g buffer / K                       here: / the sum of weights, and the step is the strategy's
#include "sim/modes/mode_spec.h"

namespace fedhive::sim {

ModeSpec semi_async() {
    ModeSpec spec{.name = "semi_async",
                  .summary =
                      "a round ends when `quorum` updates have arrived; each arriving client is replaced by another one "
                      "(FedBuff, arXiv:2106.06639)",
                  .keys = staleness_keys(),
                  .needs_quorum = true,
                  .averages_buffers = false,
                  .discounts = true,
                  .same_bits = SameBits::BySameOrder,
                  .build = [](const ModeInput& input) {
                      Mode mode;
                      mode.in_flight = input.cohort;
                      mode.quorum = quorum_of(input);
                      mode.late_join = true;
                      mode.drain = input.values.choice<AtEnd>("at_end") == AtEnd::Drain;
                      mode.staleness = staleness_of(input.values);
                      return mode;
                  }};
    spec.keys.insert(spec.keys.begin(), quorum_key());
    spec.keys.push_back(at_end_key());
    return spec;
}

}  // namespace fedhive::sim
