#include "sim/sampler.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <unordered_set>

namespace fedhive::sim {

Cohort sample_uniform(std::uint64_t num_clients, std::size_t count, Stream stream) {
    FEDHIVE_CHECK(count <= num_clients, "{} of {} clients", count, num_clients);
    std::unordered_set<std::uint32_t> chosen;
    for (std::uint64_t last = num_clients - count; last < num_clients; ++last) {
        const auto drawn = static_cast<std::uint32_t>(stream.below(last + 1));
        if (!chosen.insert(drawn).second) chosen.insert(static_cast<std::uint32_t>(last));
    }
    Cohort cohort(chosen.begin(), chosen.end());
    std::sort(cohort.begin(), cohort.end());
    return cohort;
}

}  // namespace fedhive::sim
