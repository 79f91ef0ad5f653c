// Values in either memory space, compared bit for bit.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/cuda_arena.h"
#include "aggregation/memory/param_buffer.h"

#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace fedhive::aggregation::testing {

using Floats = std::vector<float>;

inline bool same_bits(const Floats& a, const Floats& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// Normal values of very different magnitudes, so that a changed order of summation changes the sum.
inline Floats random_floats(std::size_t size, std::uint32_t which) {
    struct Drawn {
        Stream stream;
        Floats values{};
    };
    thread_local std::map<std::uint32_t, Drawn> drawn;  // suites request the same values many times
    auto& [stream, values] = drawn.try_emplace(which, Drawn{Stream(11, Purpose::TestData, which)}).first->second;
    while (values.size() < size)
        values.push_back(static_cast<float>(stream.normal() * std::exp2(static_cast<double>(stream.below(20)) - 10.0)));
    return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(size)};
}

inline ParamBuffer upload(const Floats& values, MemorySpace space) {
    ParamBuffer buffer(values.size(), space);
    copy(buffer, ConstParamSpan(values));
    synchronize(space);
    return buffer;
}

inline Floats download(ConstParamSpan span) {
    Floats values(span.size);
    copy(ParamSpan(values), span);
    synchronize(span.space);
    return values;
}

/// A buffer full of NaN, to detect elements that are not written.
inline ParamBuffer poisoned(std::size_t size, MemorySpace space) {
    return upload(Floats(size, std::numeric_limits<float>::quiet_NaN()), space);
}

/// Reason why GPU tests cannot run; empty if they can.
inline std::string no_gpu_reason() {
    try {
        CudaDriver& driver = cuda_driver();
        driver.free(driver.allocate(256));
        return {};
    } catch (const Fault& fault) {
        return fault.what();
    }
}

}  // namespace fedhive::aggregation::testing
