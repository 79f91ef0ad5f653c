// The clients that can be asked at a given time: idle and available.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace fedhive::sim {

/// Client ids in ascending order: the order of the summation tree.
using Cohort = std::vector<std::uint32_t>;

/// A cohort without repetitions, and how often each client was drawn.
struct CountedCohort {
    Cohort clients;
    std::vector<std::uint32_t> draws{};  // of each; empty: once

    /// Of a cohort that names a client as often as it was drawn.
    static CountedCohort of(const Cohort& drawn);
};

/// The sampler's measure (SamplerSpec::measure) of the present model at each of these clients (ascending ids), in their order; empty for
/// one that failed to tell it.
using AskMeasure = std::function<std::vector<std::optional<double>>(const Cohort& clients)>;

class Candidates {
public:
    /// Of the clients 0 to num_clients - 1, those that are not `busy` (ascending ids) and available, is_there(client).
    /// is_there: empty if all are available. ask: empty if none of them can be asked for a measure.
    explicit Candidates(std::uint64_t num_clients, Cohort busy = {}, std::function<bool(std::uint32_t)> is_there = {},
                        AskMeasure ask = {});

    std::uint64_t num_clients() const { return num_clients_; }
    const Cohort& busy() const { return busy_; }
    std::uint64_t num_idle() const { return num_clients_ - busy_.size(); }
    /// Every idle client is a candidate.
    bool all_there() const { return !is_there_; }
    bool has(std::uint32_t client) const;
    /// Takes as long as a pass of these clients over their examples. Throws Fault if nobody can be asked.
    std::vector<std::optional<double>> measured(const Cohort& clients) const;

    /// The index-th client that is not busy, available or not; index < num_idle(). Cost: log(busy clients).
    std::uint32_t idle(std::uint32_t index) const;

private:
    std::uint64_t num_clients_;
    Cohort busy_;
    std::function<bool(std::uint32_t)> is_there_;
    AskMeasure ask_;
};

}  // namespace fedhive::sim
