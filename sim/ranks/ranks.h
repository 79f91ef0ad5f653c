// One run in several coordinators. Each rank has its own workers and arena, and does the same as all others: reads the config, draws the data,
// samples the cohort, makes the server's step. Only what depends on who trained crosses from rank to rank: what clients report, sums of
// updates, results of the evaluation. So the server's state is one and the same everywhere, and rank 0 alone writes it down.
//
//   rank 0   sample ─▶ train its part of the cohort ─▶ ┐ reports of all ─▶ sums of all ─▶ server_step ─▶ … ─▶ tables, checkpoints
//   rank 1   sample ─▶ train its part of the cohort ─▶ ┘ reports of all ─▶ sums of all ─▶ server_step ─▶ …
//
// Ranks meet where all of them call all_gather() or exchange(), in the same order. Whatever ends a rank (an interrupt, an error) is said at its
// next meeting, where all others learn it and end, too.
#pragma once

#include "sim/ranks/transport.h"

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace fedhive::sim {

/// How long a rank may keep the others waiting.
struct Patience {
    double seconds = 60.0;
    std::function<bool()> interrupted{};  // this process is to end; empty: nobody asks
};

/// Another rank has ended the run, or does not answer any more.
struct RankFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Ranks {
public:
    /// The only one. Good as an argument wherever there may be several.
    static Ranks& alone();

    /// All ranks must make theirs. `transport` must outlive it.
    explicit Ranks(Transport& transport);

    bool is_alone() const { return transport_ == nullptr; }
    std::uint32_t rank() const { return rank_; }
    std::uint32_t size() const { return size_; }
    bool is_broken() const { return broken_; }  // somebody is lost: there are no more meetings
    bool writes() const { return rank_ == 0; }  // folder, tables, lines

    /// What each rank has to say, by rank. Throws as meet() where one of them ends, RankFailed naming who does not answer within the patience,
    /// Interrupted where this process is to end meanwhile; then not consistent, unless the caller knows better.
    /// Cost: two steps of the network up to 4 KiB, two more above; all passes through rank 0.
    std::vector<std::string> all_gather(const std::string& mine, const Patience& patience);

    /// Straight from rank to rank; sizes must be known on both sides. Throws RankFailed, Interrupted. Counts what goes over the wire.
    void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, const Patience& patience);

    /// Rank 0's bytes, on all ranks, which must have room for as many. Each gets a part of them from rank 0, and the others' parts from those, so
    /// that no rank sends them more than twice. Throws as exchange().
    void hand_out(std::span<std::byte> bytes, const Patience& patience);

    /// Bytes that this rank has sent so far by exchange(), and by all_gather().
    std::uint64_t bytes_exchanged() const { return bytes_exchanged_; }
    std::uint64_t bytes_gathered() const { return bytes_gathered_; }

    /// The part of [0, total) that is this rank's, or another's: contiguous, by rank, sizes that differ by one at most.
    std::uint64_t begin_of(std::uint64_t total, std::uint32_t rank) const { return total * rank / size_; }
    std::uint64_t begin_of(std::uint64_t total) const { return begin_of(total, rank_); }
    std::uint64_t end_of(std::uint64_t total) const { return begin_of(total, rank_ + 1); }

    /// Who trains a client of so many that keep something: the same rank in every round, and neighbours by id with neighbours.
    std::uint32_t owner_of(std::uint64_t client, std::uint64_t total) const {
        return static_cast<std::uint32_t>(client * size_ / total);
    }

    /// This rank ends, for what is being thrown now; to be called in a catch. The others learn it at their next meeting. Nothing happens where
    /// they know already.
    void announce();

    /// After everything: true once all ranks have come here, so that MPI can be left. False where one is lost.
    bool leave();
    [[noreturn]] void abort(int status);

    /// "rank 2 (host b)"
    std::string name_of(std::uint32_t rank) const;
    const std::vector<std::string>& hosts() const { return hosts_; }  // by rank

    /// Workers of all ranks, once each has said how many it has: those of a rank are numbered from here on.
    void number_workers(std::uint32_t mine);
    std::uint32_t first_worker(std::uint32_t rank) const { return is_alone() ? 0 : first_worker_.at(rank); }
    std::uint32_t num_workers(std::uint32_t rank) const { return first_worker_.at(rank + 1) - first_worker_.at(rank); }

    /// GPUs of all ranks, once each has said which one it uses; "": none.
    void name_devices(const std::string& mine);
    const std::string& device(std::uint32_t rank) const { return devices_.at(rank); }
    /// Ranks that use that one's GPU, itself included; 1 where it uses none.
    std::uint32_t on_device_of(std::uint32_t rank) const;
    /// Ranks that use the same GPU do this one after the other; all return when all have. To be called by all ranks; alone, it just does it.
    void in_turns_on_device(const std::function<void()>& work);

private:
    Ranks() = default;
    std::vector<std::string> gather(const std::string& mine, const Patience& patience);
    std::vector<std::string> gather_here(const std::string& mine, const Patience& patience);
    void send(std::uint32_t to, const std::string& text, const Patience& patience);
    void transfer(std::span<const Outgoing> out, std::span<const Incoming> in, const Patience& patience, const char* what);
    void meet(const std::vector<std::string>& endings);
    bool share_device(std::uint32_t one, std::uint32_t other) const;

    Transport* transport_ = nullptr;
    std::uint32_t rank_ = 0;
    std::uint32_t size_ = 1;
    std::vector<std::string> hosts_;
    std::vector<std::uint32_t> first_worker_;
    std::vector<std::string> devices_;
    std::uint64_t bytes_exchanged_ = 0;
    std::uint64_t bytes_gathered_ = 0;
    bool ended_ = false;   // all know that the run ends
    bool broken_ = false;  // somebody does not answer, or was not waited for
};

}  // namespace fedhive::sim
