// The arena in host memory: one shared segment.
#pragma once

#include "aggregation/memory/arena.h"
#include "aggregation/memory/shared_segment.h"

namespace fedhive::aggregation {

/// Coordinator: owns the segment, zeroed.
class HostArena final : public Arena {
public:
    explicit HostArena(const ArenaGeometry& geometry)
        : Arena(geometry, MemorySpace::Host), segment_("fedhive-arena", geometry.total_bytes()) {
        base_ = segment_.data();
    }
    int descriptor() const override { return segment_.descriptor(); }

private:
    SharedSegment segment_;
};

/// Worker: maps the inherited segment; its frozen part is read-only.
class HostArenaView final : public Arena {
public:
    HostArenaView(int descriptor, const ArenaGeometry& geometry)
        : Arena(geometry, MemorySpace::Host), view_(descriptor, geometry.total_bytes()) {
        base_ = view_.data();
        if (geometry.frozen_floats > 0) view_.protect(geometry.frozen_offset());
    }

private:
    SharedSegmentView view_;
};

}  // namespace fedhive::aggregation
