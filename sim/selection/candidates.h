// The clients that can be asked at a time: neither in training nor away.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace fedhive::sim {

/// Client ids in ascending order: the order of the summation tree.
using Cohort = std::vector<std::uint32_t>;

class Candidates {
public:
    /// Of the clients 0 to num_clients - 1, those that are not `busy` (ascending ids) and of whom is_there(client) holds.
    /// is_there: empty if everybody is there.
    explicit Candidates(std::uint64_t num_clients, Cohort busy = {}, std::function<bool(std::uint32_t)> is_there = {});

    std::uint64_t num_clients() const { return num_clients_; }
    const Cohort& busy() const { return busy_; }
    std::uint64_t num_idle() const { return num_clients_ - busy_.size(); }
    /// Every idle client is a candidate.
    bool all_there() const { return !is_there_; }
    bool has(std::uint32_t client) const;

    /// The index-th client that is not busy, there or not; index < num_idle(). Cost: log(busy clients).
    std::uint32_t idle(std::uint32_t index) const;

private:
    std::uint64_t num_clients_;
    Cohort busy_;
    std::function<bool(std::uint32_t)> is_there_;
};

}  // namespace fedhive::sim
