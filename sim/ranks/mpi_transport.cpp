// Nonblocking MPI messages, tested repeatedly, since MPI itself never stops waiting for a rank that hangs. This file alone is
// libfedhive_mpi.so.
#include "sim/ranks/transport.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

using fedhive::sim::Incoming;
using fedhive::sim::Outgoing;

/// MPI counts in int, so longer messages are split.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

constexpr int kBusyLooks = 200;                            // tests before the first nap; …
constexpr auto kShortNap = std::chrono::microseconds(50);  // … then naps of this length, …
constexpr int kShortNaps = 2000;
constexpr auto kLongNap = std::chrono::milliseconds(1);  // … then, while others still train, of this

class MpiTransport final : public fedhive::sim::Transport {
public:
    MpiTransport() {
        int provided = 0;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
        MPI_Comm_dup(MPI_COMM_WORLD, &world_);
        MPI_Comm_rank(world_, &rank_);
        MPI_Comm_size(world_, &size_);
    }

    std::uint32_t rank() const override { return static_cast<std::uint32_t>(rank_); }
    std::uint32_t num_ranks() const override { return static_cast<std::uint32_t>(size_); }

    std::vector<std::uint32_t> exchange(std::span<const Outgoing> out, std::span<const Incoming> in,
                                        const std::function<bool()>& go_on) override {
        std::vector<MPI_Request> requests;
        std::vector<std::uint32_t> peers;
        const auto in_parts = [&](std::uint32_t peer, std::size_t bytes, const auto& begin) {
            for (std::size_t first = 0; first < bytes; first += kMostBytes) {
                begin(first, static_cast<int>(std::min(kMostBytes, bytes - first)), &requests.emplace_back());
                peers.push_back(peer);
            }
        };
        for (const Incoming& one : in)
            in_parts(one.from, one.bytes.size(), [&](std::size_t first, int count, MPI_Request* request) {
                MPI_Irecv(one.bytes.data() + first, count, MPI_BYTE, static_cast<int>(one.from), 0, world_, request);
            });
        const std::size_t num_in = requests.size();
        for (const Outgoing& one : out)
            in_parts(one.to, one.bytes.size(), [&](std::size_t first, int count, MPI_Request* request) {
                MPI_Isend(one.bytes.data() + first, count, MPI_BYTE, static_cast<int>(one.to), 0, world_, request);
            });
        if (all_through(requests, go_on)) return {};
        std::vector<std::uint32_t> missing;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            if (requests[i] == MPI_REQUEST_NULL) continue;
            missing.push_back(peers[i]);
            if (i < num_in) MPI_Cancel(&requests[i]);  // nothing may be written into the buffer any more
            MPI_Request_free(&requests[i]);
        }
        std::sort(missing.begin(), missing.end());
        missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
        return missing;
    }

    void leave() override {
        MPI_Comm_free(&world_);
        MPI_Finalize();
    }

    void abort(int status) override {
        MPI_Abort(MPI_COMM_WORLD, status);
        _exit(status);
    }

private:
    /// Tests less and less often: workers may need this processor.
    bool all_through(std::vector<MPI_Request>& requests, const std::function<bool()>& go_on) const {
        for (int looks = 0;; ++looks) {
            int done = 0;
            MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
            if (done != 0) return true;
            if (looks < kBusyLooks) continue;
            if (!go_on()) {
                // Completed requests can be told from the others only one by one.
                for (MPI_Request& request : requests) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
                return std::all_of(requests.begin(), requests.end(),
                                   [](const MPI_Request& request) { return request == MPI_REQUEST_NULL; });
            }
            if (looks < kBusyLooks + kShortNaps)
                std::this_thread::sleep_for(kShortNap);
            else
                std::this_thread::sleep_for(kLongNap);
        }
    }

    MPI_Comm world_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) fedhive::sim::Transport& fedhive_mpi_transport_1() {
    static MpiTransport transport;
    return transport;
}
