// The arena: one allocation that all processes of a run share, cut into spans of [P] f32 at fixed offsets.
//
//   [ global A | global B | slot 0 | slot 1 | … | slot S-1 ]     each stride_bytes() long, a multiple of 256; no pointers inside
//
//   who writes what
//   global A, B   coordinator only (server_step writes the one that is not published)
//   slot s        the worker that runs the slot's task; the coordinator only reads it, between barrier and release
//
// Ownership is in the type: a creator (HostArena, CudaArena) owns the segment and outlives every opener (HostArenaView,
// CudaArenaView), which unmaps or closes it and never frees it.
#pragma once

#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>

namespace fedhive::aggregation {

struct ArenaGeometry {
    std::uint64_t num_floats = 0;  // P
    std::uint64_t num_slots = 0;   // S

    static constexpr std::size_t kNumGlobals = 2;
    std::size_t stride_bytes() const { return (num_floats * sizeof(float) + 255) / 256 * 256; }
    std::size_t total_bytes() const { return (kNumGlobals + num_slots) * stride_bytes(); }
};

class Arena {
public:
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    virtual ~Arena() = default;

    const ArenaGeometry& geometry() const { return geometry_; }
    MemorySpace space() const { return space_; }
    ParamSpan global(std::size_t index) const;  // index 0 or 1; throws Fault beyond
    ParamSpan slot(std::size_t index) const;    // index < num_slots; throws Fault beyond

protected:
    Arena(const ArenaGeometry& geometry, MemorySpace space) : geometry_(geometry), space_(space) {}
    std::byte* base_ = nullptr;  // set by the concrete arena once it is mapped

private:
    ParamSpan region(std::size_t index) const;

    ArenaGeometry geometry_;
    MemorySpace space_;
};

}  // namespace fedhive::aggregation
