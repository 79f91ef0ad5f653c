// FLTrust's rule: updates weighed by how far they point where the server's own update does.
//
//   out = Σ t_k (|r| / |u_k|) u_k / Σ t_k  with trust t_k = max(0, cos(u_k, r)) and the root client's update r; 0 if every t_k is 0
//
// Shapes   n >= 1 updates, one client a slot; r: [P], never a part of the sum.
// Source   Cao, Fang, Liu, Gong 2021 (arXiv:2012.13995), FLTrust.
// Differs  α is the server rate; r trains as long as `training` says, as clients do. A zero u_k or r has cosine 0.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec root_trust() {
    return {.name = "root_trust",
            .summary = "the mean of updates as long as the server's own, by their cosine with it (arXiv:2012.13995)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .root = true,
            .build = [](const Values&) { return make_sum(); },
            .lines =
                [] {
                    return std::vector<std::string>{
                        "let trust = relu(k.cos_root)",
                        "scale = where(trust > 0, trust / sum_k(trust) * (root_norm / distance_k(0)), 0)"};
                }};
}

}  // namespace fedhive::aggregation
