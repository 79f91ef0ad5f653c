// Enqueued work, run when the host waits, one piece at a time: streams take random turns, each in its own order. Work of the
// legacy stream runs after earlier and before later work of blocking streams.
#pragma once

#include <cuda_runtime_api.h>

#include "tests/support/cuda_on_host/random_order.h"

#include <deque>
#include <functional>
#include <memory>
#include <vector>

struct CUstream_st {
    struct Work {
        std::uint64_t serial = 0;
        std::function<void()> run;
        std::function<bool()> may_run;  // empty: always
    };
    bool blocking = true;
    std::deque<Work> work;
};

/// How often the event was recorded, and how often its stream has reached it. Enqueued work shares ownership.
struct CUevent_st {
    std::uint64_t recorded = 0;
    std::uint64_t reached = 0;
};

namespace cuda_on_host {

class Queue {
public:
    /// The stream for a caller's handle; nullptr if there is none.
    CUstream_st* stream(cudaStream_t named);
    cudaStream_t create(bool blocking);
    void destroy(CUstream_st* stream);

    void push(CUstream_st& stream, std::function<void()> run, std::function<bool()> may_run = {});

    /// Runs one piece of work that may run now; false if there is none.
    bool step(RandomOrder& random);
    bool idle() const;
    void forget();

private:
    bool may_run(const CUstream_st& stream) const;

    CUstream_st legacy_;
    std::vector<std::unique_ptr<CUstream_st>> created_;
    std::uint64_t serial_ = 0;
};

}  // namespace cuda_on_host
