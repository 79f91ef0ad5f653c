// One run in several coordinators. Each rank has its own workers and arena and does the same as all others: reads the config,
// draws the data, samples the cohort, makes the server's step. Ranks exchange only what depends on who trained: clients'
// reports, sums of updates, results of evaluation. So the server's state is the same everywhere, and only rank 0 writes it to
// files.
//
//   rank 0   sample ─▶ train its part of the cohort ─▶ ┐ reports of all ─▶ sums of all ─▶ server_step ─▶ … ─▶ tables, checkpoints
//   rank 1   sample ─▶ train its part of the cohort ─▶ ┘ reports of all ─▶ sums of all ─▶ server_step ─▶ …
//
// Collectives: all ranks call all_gather() and exchange() in the same order (a meeting). A rank that ends (interrupt, error)
// announces it at its next meeting, where all others learn of it and end, too.
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
    std::function<bool()> interrupted{};  // true: this process is to end; empty: never
};

/// Another rank has ended the run, or no longer answers.
struct RankFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Ranks {
public:
    /// The only rank of a run without MPI. Valid wherever a Ranks is expected.
    static Ranks& alone();

    /// Collective. `transport` must outlive this.
    explicit Ranks(Transport& transport);

    bool is_alone() const { return transport_ == nullptr; }
    std::uint32_t rank() const { return rank_; }
    std::uint32_t size() const { return size_; }
    bool is_broken() const { return broken_; }  // a rank is lost: no more meetings
    bool writes() const { return rank_ == 0; }  // writes folder, tables, lines

    /// Collective. Returns each rank's text, by rank. Throws as meet() if a rank ends, RankFailed naming a rank that does not
    /// answer within the patience, Interrupted if this process is to end meanwhile (not consistent, unless the caller knows
    /// better).
    /// Cost: two network steps up to 4 KiB, two more above; all data pass through rank 0.
    std::vector<std::string> all_gather(const std::string& mine, const Patience& patience);

    /// Collective. Transfers directly from rank to rank; sizes must match on both sides. Throws RankFailed, Interrupted. Counts
    /// the bytes sent.
    void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, const Patience& patience);

    /// Collective. Broadcasts rank 0's bytes into `bytes`, of equal size on all ranks. Rank 0 sends each rank a part, and ranks
    /// exchange their parts, so that no rank sends all bytes more than twice. Throws as exchange().
    void hand_out(std::span<std::byte> bytes, const Patience& patience);

    /// Bytes that this rank has sent with exchange(), and with all_gather().
    std::uint64_t bytes_exchanged() const { return bytes_exchanged_; }
    std::uint64_t bytes_gathered() const { return bytes_gathered_; }

    /// A rank's part of [0, total): contiguous, in rank order, sizes differ by at most 1.
    std::uint64_t begin_of(std::uint64_t total, std::uint32_t rank) const { return total * rank / size_; }
    std::uint64_t begin_of(std::uint64_t total) const { return begin_of(total, rank_); }
    std::uint64_t end_of(std::uint64_t total) const { return begin_of(total, rank_ + 1); }

    /// The rank that trains a client with state, of `total` clients: the same in every round, and non-decreasing in the id.
    std::uint32_t owner_of(std::uint64_t client, std::uint64_t total) const {
        return static_cast<std::uint32_t>(client * size_ / total);
    }

    /// Call in a catch: announces that this rank ends because of the current exception. The others learn it at their next
    /// meeting. Does nothing if they know already.
    void announce();

    /// Call at the very end. Returns true once all ranks have called it, so that MPI can be left; false if a rank is lost.
    bool leave();
    [[noreturn]] void abort(int status);

    /// "rank 2 (host b)"
    std::string name_of(std::uint32_t rank) const;
    const std::vector<std::string>& hosts() const { return hosts_; }  // by rank

    /// Collective. Numbers the workers of all ranks consecutively; `mine`: this rank's number of workers.
    void number_workers(std::uint32_t mine);
    std::uint32_t first_worker(std::uint32_t rank) const { return is_alone() ? 0 : first_worker_.at(rank); }
    std::uint32_t num_workers(std::uint32_t rank) const { return first_worker_.at(rank + 1) - first_worker_.at(rank); }

    /// Collective. Each rank names the GPU that it uses; "": none.
    void name_devices(const std::string& mine);
    const std::string& device(std::uint32_t rank) const { return devices_.at(rank); }
    /// How many ranks use the GPU of `rank`, itself included; 1 if it uses none.
    std::uint32_t on_device_of(std::uint32_t rank) const;
    /// Collective. Ranks that share a GPU run `work` one after the other; returns when all are done. A single rank just runs
    /// it.
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
    bool ended_ = false;   // all ranks know that the run ends
    bool broken_ = false;  // a rank does not answer, or was not waited for
};

}  // namespace fedhive::sim
