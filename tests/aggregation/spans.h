// Values in either memory space, compared bit for bit.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/cuda_arena.h"
#include "aggregation/memory/param_buffer.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace fedhive::aggregation::testing {

using Floats = std::vector<float>;

inline bool same_bits(const Floats& a, const Floats& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// Normal values of very different magnitudes, so that another order of summation shows.
inline Floats random_floats(std::size_t size, std::uint32_t which) {
    Stream stream(11, Purpose::TestData, which);
    Floats values(size);
    for (float& value : values)
        value = static_cast<float>(stream.normal() * std::exp2(static_cast<double>(stream.below(20)) - 10.0));
    return values;
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

/// A buffer full of NaN: what is not written shows.
inline ParamBuffer poisoned(std::size_t size, MemorySpace space) {
    return upload(Floats(size, std::numeric_limits<float>::quiet_NaN()), space);
}

/// Why GPU tests cannot run here; empty when they can.
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
