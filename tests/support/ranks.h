// R ranks over one shared segment, as threads (so that the thread sanitizer sees races) or as processes (which can be killed).
#pragma once

#include "aggregation/base/clock.h"
#include "aggregation/memory/shared_segment.h"
#include "clients/protocol/collectives.h"
#include "clients/protocol/fixed_text.h"

#include <sys/wait.h>

#include <unistd.h>
#include <cstdio>
#include <new>
#include <thread>

namespace fedhive::testing {

class Ranks {
public:
    enum class As { Threads, Processes };
    enum class End : std::uint32_t { Nothing, Returned, Missing, Left, Threw };

    /// How a rank ended; Nothing if it was killed.
    struct alignas(64) Outcome {
        End end = End::Nothing;
        std::uint64_t missing = 0;
        double seconds = 0.0;  // since run() was called
        clients::FixedText<256> message;
    };

    Ranks(std::size_t size, std::size_t floats, double deadline_s = 60.0)
        : size_(size),
          floats_(floats),
          deadline_s_(deadline_s),
          stride_((floats * sizeof(float) + 63) / 64 * 64),
          segment_("fedhive-ranks", size * (sizeof(clients::RankCell) + sizeof(Outcome) + stride_)) {
        for (std::size_t r = 0; r < size; ++r) {
            new (cells() + r) clients::RankCell;
            new (outcomes() + r) Outcome;
        }
    }

    std::size_t size() const { return size_; }
    std::span<clients::RankCell> group() const { return {cells(), size_}; }
    const Outcome& outcome(std::size_t rank) const { return outcomes()[rank]; }

    aggregation::ParamSpan buffer(std::size_t rank) const {
        return {reinterpret_cast<float*>(reinterpret_cast<std::byte*>(outcomes() + size_) + rank * stride_), floats_};
    }

    clients::GroupOptions options(std::size_t rank) const {
        clients::GroupOptions options{group(), rank, {}, deadline_s_};
        for (std::size_t r = 0; r < size_; ++r) options.buffers.push_back(buffer(r));
        return options;
    }

    using Body = std::function<void(clients::Communicator&)>;
    using Stopping = std::function<std::function<bool()>(std::size_t rank)>;

    /// Runs the body at every rank; returns when all have ended, however.
    void run(As as, const Body& body, const Stopping& stopping = {}) {
        start(as, body, stopping);
        join();
    }

    /// The same in two parts; threads use body and stopping until join().
    void start(As as, const Body& body, const Stopping& stopping = {}) {
        const std::int64_t start = now_ns();
        std::fflush(nullptr);  // otherwise each child inherits buffered output
        for (std::size_t r = 0; r < size_; ++r) {
            const auto work = [this, r, start, &body, &stopping] { run_rank(r, start, body, stopping); };
            outcomes()[r] = {};
            if (as == As::Threads) {
                threads_.emplace_back(work);
            } else if (const pid_t child = fork(); child == 0) {
                work();
                _exit(0);
            } else {
                processes_.push_back(child);
            }
        }
    }
    void join() {
        for (std::thread& thread : threads_) thread.join();
        for (const pid_t process : processes_) waitpid(process, nullptr, 0);
        threads_.clear();
        processes_.clear();
    }

private:
    clients::RankCell* cells() const { return reinterpret_cast<clients::RankCell*>(segment_.data()); }
    Outcome* outcomes() const { return reinterpret_cast<Outcome*>(cells() + size_); }

    void run_rank(std::size_t rank, std::int64_t start, const Body& body, const Stopping& stopping) {
        Outcome& outcome = outcomes()[rank];
        End end = End::Returned;
        try {
            clients::GroupOptions own = options(rank);
            if (stopping) own.stopping = stopping(rank);
            clients::Communicator communicator(std::move(own));
            body(communicator);
        } catch (const clients::RankMissing& error) {
            end = End::Missing;
            outcome.missing = error.rank;
            outcome.message.set(error.what());
        } catch (const clients::GroupLeft& error) {
            end = End::Left;
            outcome.message.set(error.what());
        } catch (const std::exception& error) {
            end = End::Threw;
            outcome.message.set(error.what());
        }
        outcome.seconds = seconds_between(start, now_ns());
        outcome.end = end;
    }

    std::size_t size_, floats_;
    double deadline_s_;
    std::size_t stride_;
    aggregation::SharedSegment segment_;
    std::vector<std::thread> threads_;
    std::vector<pid_t> processes_;
};

}  // namespace fedhive::testing
