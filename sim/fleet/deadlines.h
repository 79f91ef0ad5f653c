// The time that a client, or a chunk of an evaluation, may take: the config's number, or learned from the durations so far.
#pragma once

#include "clients/protocol/task.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace fedhive::sim {

class Deadlines {
public:
    /// fixed_s: empty means auto.
    explicit Deadlines(std::optional<double> fixed_s) : fixed_s_(fixed_s) {}

    /// Seconds for `steps` local steps.
    double of_client(std::uint64_t steps) const { return of(slowest_step_s_, static_cast<double>(steps)); }
    double of_chunk() const { return of(slowest_chunk_s_, 1.0); }

    /// Seconds for another rank whose workers each have up to `tasks` tasks, with `steps` local steps together.
    double of_rank(std::uint64_t tasks, std::uint64_t steps) const {
        const double work = fixed_s_ ? *fixed_s_ * static_cast<double>(tasks) : of_client(steps);
        return work + of_answer() + kRankMargin;
    }

    /// Seconds for another rank whose workers each have up to `chunks` chunks.
    double of_rank_with_chunks(std::uint64_t chunks) const {
        const auto count = static_cast<double>(chunks);
        return (fixed_s_ ? *fixed_s_ * count : of(slowest_chunk_s_, count)) + of_answer() + kRankMargin;
    }

    /// Seconds for an idle worker to answer its bell.
    double of_answer() const { return fixed_s_.value_or(60.0); }

    void learn(const clients::ClientResult& result) {
        if (result.steps > 0) slowest_step_s_ = std::max(slowest_step_s_, result.seconds / static_cast<double>(result.steps));
    }
    void learn_chunk(double seconds) { slowest_chunk_s_ = std::max(slowest_chunk_s_, seconds); }

private:
    // Long, since a machine that is suddenly busy is no failure of the client.
    static constexpr double kUnknown = 300.0;
    static constexpr double kFloor = 30.0;
    static constexpr double kFactor = 20.0;
    static constexpr double kRankMargin = 5.0;  // s, for the checkpoints that only rank 0 writes

    double of(double slowest_s, double count) const {
        if (fixed_s_) return *fixed_s_;
        return slowest_s == 0.0 ? kUnknown : kFloor + kFactor * slowest_s * count;
    }

    std::optional<double> fixed_s_;
    double slowest_step_s_ = 0.0;
    double slowest_chunk_s_ = 0.0;
};

}  // namespace fedhive::sim
