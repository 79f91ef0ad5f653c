// Every candidate is equally likely, without replacement: McMahan et al. 2017 (arXiv:1602.05629), Algorithm 1.
#include "sim/selection/sampler.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace fedhive::sim {

namespace {

/// `count` numbers below num_numbers, without replacement. take(number) adds a number to those chosen, unless it is among them; returns whether it
/// was not.
/// Source: R. Floyd, in J. Bentley, "Programming pearls: a sample of brilliance", CACM 30(9), 1987.
template <typename Take>
void draw_distinct(std::uint64_t num_numbers, std::size_t count, Stream stream, const Take& take) {
    for (std::uint64_t last = num_numbers - count; last < num_numbers; ++last)
        if (!take(static_cast<std::uint32_t>(stream.below(last + 1)))) take(static_cast<std::uint32_t>(last));
}

/// The numbers of draw_distinct(), ascending. Cost: grows with count, not with num_numbers.
Cohort distinct_below(std::uint64_t num_numbers, std::size_t count, const Stream& stream) {
    constexpr std::uint64_t kDense = 64;  // numbers for each that is chosen, up to which a bit of each costs less than a set
    Cohort numbers;
    numbers.reserve(count);
    if (num_numbers > kDense * count) {
        std::unordered_set<std::uint32_t> chosen(count);
        draw_distinct(num_numbers, count, stream, [&](std::uint32_t number) { return chosen.insert(number).second; });
        numbers.assign(chosen.begin(), chosen.end());
        std::sort(numbers.begin(), numbers.end());
        return numbers;
    }
    std::vector<bool> is_chosen(num_numbers);
    draw_distinct(num_numbers, count, stream, [&](std::uint32_t number) {
        const bool is_new = !is_chosen[number];
        is_chosen[number] = true;
        return is_new;
    });
    for (std::uint32_t number = 0; number < num_numbers; ++number)
        if (is_chosen[number]) numbers.push_back(number);
    return numbers;
}

/// Clients in random order, one at a time: a lazy Fisher-Yates shuffle that stores only moved entries.
class ShuffledClients {
public:
    ShuffledClients(std::uint64_t num_clients, const Stream& stream) : left_(num_clients), stream_(stream) {}

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

class UniformSampler final : public Sampler {
public:
    /// Cost: grows with count / (share of clients that are there); with num_clients only if fewer than count are there.
    Cohort sample(const Candidates& candidates, std::size_t count, Stream stream) override {
        Cohort cohort;
        if (candidates.all_there()) {
            const std::uint64_t idle = candidates.num_idle();
            cohort = distinct_below(idle, std::min<std::uint64_t>(count, idle), stream);
            for (std::uint32_t& client : cohort) client = candidates.idle(client);
            return cohort;
        }
        ShuffledClients draws(candidates.num_clients(), stream);
        while (cohort.size() < count) {
            const std::optional<std::uint32_t> client = draws.next();
            if (!client) break;
            if (candidates.has(*client)) cohort.push_back(*client);
        }
        std::sort(cohort.begin(), cohort.end());
        return cohort;
    }
};

}  // namespace

SamplerSpec uniform_sampler() {
    return {.name = "uniform",
            .summary = "every client that can be asked is equally likely (arXiv:1602.05629)",
            .keys = {},
            .build = [](const SamplerInput&) -> std::unique_ptr<Sampler> { return std::make_unique<UniformSampler>(); }};
}

}  // namespace fedhive::sim
