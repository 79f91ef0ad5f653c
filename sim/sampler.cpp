#include "sim/sampler.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <cmath>
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

namespace {

/// Number `index` of the clients that are not busy.
std::uint32_t idle_client(std::uint32_t index, const std::vector<std::uint32_t>& busy) {
    for (const std::uint32_t client : busy) index += client <= index ? 1 : 0;
    return index;
}

std::vector<std::uint32_t> idle_and_there(std::uint64_t num_clients, const std::vector<std::uint32_t>& busy,
                                          const Devices& devices, double now_s) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t client = 0; client < num_clients; ++client)
        if (!std::binary_search(busy.begin(), busy.end(), client) && devices.available(client, now_s)) found.push_back(client);
    return found;
}

double next_time_somebody_is_there(std::uint64_t num_clients, const Devices& devices, double now_s) {
    double next = devices.next_available_s(0, now_s);
    for (std::uint32_t client = 1; client < num_clients; ++client)
        next = std::min(next, devices.next_available_s(client, now_s));
    if (std::isinf(next))
        throw Fault(fmt::format(
            "after {:.1f} s of simulated time no client is ever available again (devices.availability.trace)", now_s));
    return next;
}

}  // namespace

Cohort sample_idle(std::uint64_t num_clients, const std::vector<std::uint32_t>& busy, std::size_t count, Stream stream,
                   const Devices& devices, double& now_s) {
    if (devices.always_available()) {
        const std::uint64_t idle = num_clients - busy.size();
        Cohort cohort = sample_uniform(idle, std::min<std::uint64_t>(count, idle), stream);
        for (std::uint32_t& client : cohort) client = idle_client(client, busy);
        return cohort;
    }
    if (busy.empty()) now_s = next_time_somebody_is_there(num_clients, devices, now_s);
    const std::vector<std::uint32_t> there = idle_and_there(num_clients, busy, devices, now_s);
    Cohort cohort = sample_uniform(there.size(), std::min(count, there.size()), stream);
    for (std::uint32_t& client : cohort) client = there[client];
    return cohort;
}

}  // namespace fedhive::sim
