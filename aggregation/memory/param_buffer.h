// An owning vector of f32 in one memory space, private to its process: local parameters, gradients, moments, an aggregate.
#pragma once

#include "aggregation/memory/param_span.h"

#include <memory>

namespace fedhive::aggregation {

class ParamBuffer {
public:
    ParamBuffer() = default;

    /// Allocates `size` floats, zeroed, 256-byte aligned. Throws Fault with the bytes wanted when there is no memory.
    ParamBuffer(std::size_t size, MemorySpace space);

    ParamSpan span() const { return {floats_.get(), size_, space_}; }
    operator ParamSpan() const { return span(); }
    operator ConstParamSpan() const { return span(); }

private:
    struct Free {
        MemorySpace space;
        Free() noexcept : space(MemorySpace::Host) {}
        explicit Free(MemorySpace where) noexcept : space(where) {}
        void operator()(float* floats) const noexcept;
    };
    std::unique_ptr<float, Free> floats_;
    std::size_t size_ = 0;
    MemorySpace space_ = MemorySpace::Host;
};

}  // namespace fedhive::aggregation
