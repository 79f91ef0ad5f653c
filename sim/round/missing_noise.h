// Noise that an upload chain promises for the sum of a server step's updates, but that this step's clients did not add: the
// server adds it.
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

/// max(0, c² - Σ_k s_k² / m): missing variance of the sum, as a multiple of the promised variance. Update k has discount s_k
/// and a share 1/m of it; c is the largest sum of discounts of one client's updates, so the most that one client counts. 0 if
/// the difference is only rounding.
double missing_variance(const Arrivals& arrived, const Mode& mode);

class MissingNoise {
public:
    /// seed: that of the clients' training; layout: the model's; local: the part of the model that never travels.
    MissingNoise(const clients::UploadPlan& upload, std::uint64_t seed, const aggregation::Layout& layout,
                 const clients::LocalPart& local, const Mode& mode)
        : upload_(upload), seed_(seed), layout_(layout), local_(local), mode_(mode) {}

    /// `mean` with the missing noise added; `mean` itself if none is missing. clip_norm: of the round, for a chain that adapts it.
    ///
    /// Order    keyed by (seed, round): same bits on every rank and after a resume.
    /// Memory   a vector as long as `mean`, from the first call with missing noise on.
    aggregation::Aggregate completed(const aggregation::Aggregate& mean, const Arrivals& arrived, std::int64_t round,
                                     double clip_norm = 0.0);

private:
    clients::UploadPlan upload_;
    std::uint64_t seed_;
    aggregation::Layout layout_;
    clients::LocalPart local_;
    Mode mode_;
    aggregation::ParamBuffer sum_;
};

}  // namespace fedhive::sim
