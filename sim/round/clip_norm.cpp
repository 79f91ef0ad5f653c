#include "sim/round/clip_norm.h"

#include "aggregation/base/random.h"

#include <algorithm>
#include <cmath>

namespace fedhive::sim {

ClipNorm::ClipNorm(const clients::UploadPlan& upload, std::uint64_t seed, const clients::Reports& reports)
    : step_(clients::adapting_step(upload)), seed_(seed) {
    if (step_) within_ = reports.index_of(clients::kWithinClip);
}

double ClipNorm::next(double norm, const Arrivals& arrived, std::int64_t round) const {
    const auto [first, quantile, rate, count_noise] = step_->numbers;
    double within = 0.0, accepted = 0.0;
    for (const ClientReport& client : arrived.clients) {
        if (client.failure) continue;
        within += client.result.reports[within_];
        accepted += 1.0;
    }
    if (accepted == 0.0) return norm;
    if (count_noise > 0.0)
        within += count_noise * Stream(seed_, Purpose::ClipCount, static_cast<std::uint32_t>(round)).normal();
    return std::clamp(norm * std::exp(-rate * (within / accepted - quantile)), kLeast, kMost);
}

}  // namespace fedhive::sim
