// Clients in turn, by id: a cohort begins after the last one, and the first client follows the last. A client that cannot be asked in its
// turn is passed over until the next one.
#include "sim/selection/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace fedhive::sim {

namespace {

class RoundRobinSampler final : public Sampler {
public:
    explicit RoundRobinSampler(std::uint64_t num_clients) : num_clients_(static_cast<std::uint32_t>(num_clients)) {}

    /// Cost: count, and the clients that are passed over.
    Cohort sample(const Candidates& candidates, std::size_t count, Stream) override {
        Cohort cohort;
        std::uint32_t client = next_;
        for (std::uint32_t passed = 0; passed < num_clients_ && cohort.size() < count; ++passed) {
            const std::uint32_t follower = client + 1 < num_clients_ ? client + 1 : 0;
            if (candidates.has(client)) {
                cohort.push_back(client);
                next_ = follower;
            }
            client = follower;
        }
        std::sort(cohort.begin(), cohort.end());
        return cohort;
    }

    std::string state() const override { return fmt::format("{}", next_); }

    bool restore(const std::string& state) override {
        std::uint32_t next = 0;
        if (!state.empty()) {
            const auto [end, error] = std::from_chars(state.data(), state.data() + state.size(), next);
            if (error != std::errc() || end != state.data() + state.size() || next >= num_clients_) return false;
        }
        next_ = next;
        return true;
    }

private:
    std::uint32_t num_clients_;
    std::uint32_t next_ = 0;  // whose turn it is
};

}  // namespace

SamplerSpec round_robin_sampler() {
    return {.name = "round_robin",
            .summary = "in turn by id",
            .keys = {},
            .build = [](const SamplerInput& input) -> std::unique_ptr<Sampler> {
                return std::make_unique<RoundRobinSampler>(input.num_examples.size());
            }};
}

}  // namespace fedhive::sim
