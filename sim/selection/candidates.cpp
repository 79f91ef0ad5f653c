#include "sim/selection/candidates.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <utility>

namespace fedhive::sim {

CountedCohort CountedCohort::of(const Cohort& drawn) {
    CountedCohort counted;
    for (const std::uint32_t client : drawn) {
        if (!counted.clients.empty() && counted.clients.back() == client) {
            ++counted.draws.back();
            continue;
        }
        counted.clients.push_back(client);
        counted.draws.push_back(1);
    }
    if (counted.clients.size() == drawn.size()) counted.draws.clear();
    return counted;
}

Candidates::Candidates(std::uint64_t num_clients, Cohort busy, std::function<bool(std::uint32_t)> is_there, AskMeasure ask)
    : num_clients_(num_clients), busy_(std::move(busy)), is_there_(std::move(is_there)), ask_(std::move(ask)) {}

std::vector<std::optional<double>> Candidates::measured(const Cohort& clients) const {
    FEDHIVE_CHECK(ask_ != nullptr, "{} clients are asked for a measure, which they cannot give in this run", clients.size());
    if (clients.empty()) return {};
    std::vector<std::optional<double>> told = ask_(clients);
    FEDHIVE_CHECK_EQ(told.size(), clients.size());
    return told;
}

bool Candidates::has(std::uint32_t client) const {
    return client < num_clients_ && !std::binary_search(busy_.begin(), busy_.end(), client) &&
           (!is_there_ || is_there_(client));
}

std::uint32_t Candidates::idle(std::uint32_t index) const {
    // busy[i] - i idle clients have smaller ids than busy[i]; binary search for the number of busy ones to skip.
    std::uint32_t passed = 0;
    for (auto last = static_cast<std::uint32_t>(busy_.size()); passed < last;) {
        const std::uint32_t middle = passed + (last - passed) / 2;
        if (busy_[middle] - middle <= index)
            passed = middle + 1;
        else
            last = middle;
    }
    return index + passed;
}

}  // namespace fedhive::sim
