// Noise that an upload chain promises to the sum of a server step's updates and that the clients of this step did not bring: the server adds it.
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/models/local_part.h"
#include "clients/uploads/upload.h"
#include "sim/modes/mode.h"
#include "sim/round/flight.h"

#include <cstdint>

namespace fedhive::sim {

/// Of updates k with discounts s_k, each with a share 1/m of the promised variance, the sum has  sum_k s_k^2 / m  of it, and is promised c^2:
/// c is the most that one client counts, the largest sum of the discounts of its own updates. Returns the difference, at least 0, and 0 where it
/// is not more than rounding.
double missing_variance(const Arrivals& arrived, const Mode& mode);

class MissingNoise {
public:
    /// seed: the clients' training's; layout: of the model; local: what of it never travels.
    MissingNoise(const clients::UploadPlan& upload, std::uint64_t seed, const aggregation::Layout& layout,
                 const clients::LocalPart& local, const Mode& mode)
        : of_sum_(clients::noise_of_sum(upload)), seed_(seed), layout_(layout), local_(local), mode_(mode) {}

    /// The mean of these arrivals with what is missing; itself where nothing is.
    ///
    /// Order    keyed by (seed, round): same bits on every rank and after a resume.
    /// Memory   a vector as long as the mean, from the first time on that something is missing.
    aggregation::Aggregate completed(const aggregation::Aggregate& mean, const Arrivals& arrived, std::int64_t round);

private:
    double of_sum_;  // standard deviation
    std::uint64_t seed_;
    aggregation::Layout layout_;
    clients::LocalPart local_;
    Mode mode_;
    aggregation::ParamBuffer sum_;
};

}  // namespace fedhive::sim
