// A non-owning view of a vector of f32, such as a model's P floats: the operand of all rules in aggregation/math. The memory may belong to
// an arena, a test's vector or a worker.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace fedhive::aggregation {

/// Where a span's floats can be read: by this process's CPU, or by the current CUDA device only.
enum class MemorySpace { Host, Cuda };

struct ConstParamSpan {
    const float* data = nullptr;
    std::size_t size = 0;  // floats
    MemorySpace space = MemorySpace::Host;

    ConstParamSpan() = default;
    ConstParamSpan(const float* floats, std::size_t count, MemorySpace where = MemorySpace::Host)
        : data(floats), size(count), space(where) {}
    ConstParamSpan(const std::vector<float>& floats) : data(floats.data()), size(floats.size()) {}

    std::span<const float> host() const { return {data, size}; }  // host memory only
    ConstParamSpan part(std::size_t first, std::size_t count) const { return {data + first, count, space}; }
};

struct ParamSpan {
    float* data = nullptr;
    std::size_t size = 0;  // floats
    MemorySpace space = MemorySpace::Host;

    ParamSpan() = default;
    ParamSpan(float* floats, std::size_t count, MemorySpace where = MemorySpace::Host)
        : data(floats), size(count), space(where) {}
    ParamSpan(std::vector<float>& floats) : data(floats.data()), size(floats.size()) {}

    operator ConstParamSpan() const { return {data, size, space}; }
    std::span<float> host() const { return {data, size}; }  // host memory only
    ParamSpan first(std::size_t count) const { return {data, count, space}; }
    ParamSpan part(std::size_t first, std::size_t count) const { return {data + first, count, space}; }
};

}  // namespace fedhive::aggregation
