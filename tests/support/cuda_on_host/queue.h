// Work that was enqueued and runs when somebody waits, one piece at a time: streams in random turns, each in its own order; the legacy stream
// after all that blocking streams were given before, and before what they are given later.
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

/// How often it was recorded in a stream, and how often the stream has come by. Held by what is enqueued, too.
struct CUevent_st {
    std::uint64_t recorded = 0;
    std::uint64_t reached = 0;
};

namespace cuda_on_host {

class Queue {
public:
    /// The stream that a caller means; nullptr when there is none such.
    CUstream_st* stream(cudaStream_t named);
    cudaStream_t create(bool blocking);
    void destroy(CUstream_st* stream);

    void push(CUstream_st& stream, std::function<void()> run, std::function<bool()> may_run = {});

    /// Runs one piece of what may run now; false when there is none.
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
