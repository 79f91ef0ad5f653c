// Ranks for tests: threads of one process, with messages in queues.
#pragma once

#include "sim/ranks/ranks.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace fedhive::testing {

class ThreadHub {
public:
    void put(std::uint32_t from, std::uint32_t to, std::span<const std::byte> bytes) {
        const std::lock_guard lock(mutex_);
        queues_[{from, to}].emplace_back(bytes.begin(), bytes.end());
        changed_.notify_all();
    }
    /// The next message; empty after `patience` without one.
    std::optional<std::vector<std::byte>> take(std::uint32_t from, std::uint32_t to, std::chrono::milliseconds patience) {
        std::unique_lock lock(mutex_);
        auto& queue = queues_[{from, to}];
        if (!changed_.wait_for(lock, patience, [&] { return !queue.empty(); })) return std::nullopt;
        std::vector<std::byte> bytes = std::move(queue.front());
        queue.pop_front();
        return bytes;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::vector<std::byte>>> queues_;
};

class ThreadTransport final : public sim::Transport {
public:
    ThreadTransport(ThreadHub& hub, std::uint32_t rank, std::uint32_t num_ranks)
        : hub_(hub), rank_(rank), num_ranks_(num_ranks) {}

    std::uint32_t rank() const override { return rank_; }
    std::uint32_t num_ranks() const override { return num_ranks_; }
    std::vector<std::uint32_t> exchange(std::span<const sim::Outgoing> out, std::span<const sim::Incoming> in,
                                        const std::function<bool()>& go_on) override {
        for (const sim::Outgoing& one : out) hub_.put(rank_, one.to, one.bytes);
        std::vector<std::uint32_t> missing;
        for (const sim::Incoming& one : in) {
            std::optional<std::vector<std::byte>> bytes;
            do bytes = hub_.take(one.from, rank_, std::chrono::milliseconds(1));
            while (!bytes && go_on());
            if (bytes && bytes->size() == one.bytes.size())
                std::copy(bytes->begin(), bytes->end(), one.bytes.begin());
            else
                missing.push_back(one.from);
        }
        return missing;
    }
    void leave() override {}
    void abort(int) override {}

private:
    ThreadHub& hub_;
    std::uint32_t rank_;
    std::uint32_t num_ranks_;
};

/// Runs `work` in one thread per rank, concurrently.
inline void in_ranks(std::uint32_t num_ranks, const std::function<void(sim::Ranks& ranks)>& work) {
    ThreadHub hub;
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < num_ranks; ++rank)
        threads.emplace_back([&, rank] {
            ThreadTransport transport(hub, rank, num_ranks);
            sim::Ranks ranks(transport);
            work(ranks);
        });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace fedhive::testing
