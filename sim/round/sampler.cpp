#include "sim/round/sampler.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
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

/// The index-th client that is not busy.
std::uint32_t idle_client(std::uint32_t index, const std::vector<std::uint32_t>& busy) {
    // busy[i] - i idle clients have smaller ids than busy[i]; binary search for the number of busy ones to skip.
    std::uint32_t passed = 0;
    for (auto last = static_cast<std::uint32_t>(busy.size()); passed < last;) {
        const std::uint32_t middle = passed + (last - passed) / 2;
        if (busy[middle] - middle <= index)
            passed = middle + 1;
        else
            last = middle;
    }
    return index + passed;
}

/// Clients in random order, one at a time: a lazy Fisher-Yates shuffle that stores only moved entries.
class Draws {
public:
    Draws(std::uint64_t num_clients, const Stream& stream) : left_(num_clients), stream_(stream) {}

    std::optional<std::uint32_t> next() {
        if (left_ == 0) return std::nullopt;
        const auto drawn = static_cast<std::uint32_t>(stream_.below(left_));
        const std::uint32_t client = at(drawn);
        --left_;
        moved_[drawn] = at(static_cast<std::uint32_t>(left_));
        return client;
    }

private:
    std::uint32_t at(std::uint32_t place) const {
        const auto moved = moved_.find(place);
        return moved == moved_.end() ? place : moved->second;
    }

    std::uint64_t left_;
    Stream stream_;
    std::unordered_map<std::uint32_t, std::uint32_t> moved_;
};

/// `count` available and idle clients, or all of them if there are fewer; others that are drawn are skipped.
Cohort sample_there(std::uint64_t num_clients, const std::vector<std::uint32_t>& busy, std::size_t count, const Stream& stream,
                    const Devices& devices, double now_s) {
    Cohort cohort;
    Draws draws(num_clients, stream);
    while (cohort.size() < count) {
        const std::optional<std::uint32_t> client = draws.next();
        if (!client) break;
        if (!std::binary_search(busy.begin(), busy.end(), *client) && devices.available(*client, now_s))
            cohort.push_back(*client);
    }
    std::sort(cohort.begin(), cohort.end());
    return cohort;
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
    Cohort cohort = sample_there(num_clients, busy, count, stream, devices, now_s);
    if (!cohort.empty() || !busy.empty() || count == 0) return cohort;
    now_s = next_time_somebody_is_there(num_clients, devices, now_s);
    return sample_there(num_clients, busy, count, stream, devices, now_s);
}

}  // namespace fedhive::sim
