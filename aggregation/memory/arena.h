// The arena: one allocation that all processes of a run share, cut into regions of f32 at fixed offsets. Regions `global` and `slot` have
// P floats, the model's and those of the memories that travel with it (memories.h).
//
//   [ global 0 | … | global G-1 | slot 0 | … | slot S-1 | exchange 0 | … | exchange S-1 | kept 0 | … | kept S-1 | aggregate | products | frozen ]
//
//   Offsets are multiples of 256 bytes; frozen begins at a multiple of 64 KiB, a page boundary for every page size.
//
//   Region        Who writes it
//   global g      the coordinator: the server's step overwrites a model without readers, then publishes it. Mode hogwild: all workers
//   slot s        the worker that runs the slot's task. The coordinator reads slots between barrier and release, and writes there what
//                 colluding attackers send; it also writes the slots after those of clients, which hold vectors of the server
//   exchange s    the two workers that share the slot's task in mode split, in turns
//   kept s        the worker that runs the slot's task: the change of the client's own memories, which the coordinator stores when
//                 it accepts the update
//   aggregate     workers, each the range of its task; exists only where workers aggregate (num_aggregates is 1)
//   products      workers, each the ranges of its tasks; f64; exists only where the server's rule needs inner products
//   frozen        untrained parameters: the coordinator, before the first worker starts; a
//                 worker's host arena maps it read-only
//
// Ownership: a creator (HostArena, CudaArena) owns the segment and outlives every opener (HostArenaView, CudaArenaView). An
// opener unmaps or closes the segment and never frees it.
#pragma once

#include "aggregation/base/divide_up.h"
#include "aggregation/memory/cuda_driver.h"
#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace fedhive::aggregation {

struct ArenaGeometry {
    std::uint64_t num_floats = 0;       // P
    std::uint64_t num_slots = 0;        // S
    std::uint64_t num_globals = 2;      // G: the models that may still be read, and the one that is being written
    std::uint64_t exchange_floats = 0;  // of one slot's exchange
    std::uint64_t num_aggregates = 0;   // 0 or 1
    std::uint64_t frozen_floats = 0;    // F
    std::uint64_t kept_floats = 0;      // of one slot's client
    std::uint64_t num_products = 0;     // doubles

    std::size_t stride_bytes() const { return padded(num_floats); }
    std::size_t exchange_bytes() const { return padded(exchange_floats); }
    std::size_t kept_bytes() const { return padded(kept_floats); }
    std::size_t exchange_offset() const { return (num_globals + num_slots) * stride_bytes(); }
    std::size_t kept_offset() const { return exchange_offset() + num_slots * exchange_bytes(); }
    std::size_t aggregate_offset() const { return kept_offset() + num_slots * kept_bytes(); }
    std::size_t products_offset() const { return aggregate_offset() + num_aggregates * stride_bytes(); }
    std::size_t end_of_products() const { return products_offset() + padded(2 * num_products); }
    std::size_t frozen_offset() const {
        constexpr std::size_t kPage = 65536;
        return round_up(end_of_products(), kPage);
    }
    std::size_t total_bytes() const {
        if (frozen_floats == 0) return end_of_products();
        return frozen_offset() + padded(frozen_floats);
    }

    static constexpr std::size_t padded(std::uint64_t floats) { return (floats * sizeof(float) + 255) / 256 * 256; }
};

class Arena {
public:
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    virtual ~Arena() = default;

    const ArenaGeometry& geometry() const { return geometry_; }
    MemorySpace space() const { return space_; }
    ParamSpan global(std::size_t index) const;    // index < num_globals; throws Fault beyond
    ParamSpan slot(std::size_t index) const;      // index < num_slots; throws Fault beyond
    ParamSpan exchange(std::size_t index) const;  // index < num_slots, [exchange_floats]; throws Fault beyond
    ParamSpan kept(std::size_t index) const;      // index < num_slots, [kept_floats]; throws Fault beyond
    ParamSpan aggregate() const;                  // [P]; throws Fault where the arena has none
    std::span<double> products() const;           // [num_products], host arenas only; throws Fault for a device's
    ParamSpan frozen() const;                     // [F]; empty where nothing is frozen

    /// For opening in another process: a host arena by its inherited descriptor (else -1), a
    /// CUDA arena by its handle (else zeros).
    virtual int descriptor() const { return -1; }
    virtual IpcHandle handle() const { return {}; }

protected:
    Arena(const ArenaGeometry& geometry, MemorySpace space) : geometry_(geometry), space_(space) {}
    std::byte* base_ = nullptr;  // set by the concrete arena once it is mapped

private:
    ParamSpan region(std::size_t index) const;
    ParamSpan span_at(std::size_t offset) const {
        return {reinterpret_cast<float*>(base_ + offset), geometry_.num_floats, space_};
    }

    ArenaGeometry geometry_;
    MemorySpace space_;
};

}  // namespace fedhive::aggregation
