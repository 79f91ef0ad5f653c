// How bytes get from one rank to another: all that fedhive asks of MPI. The library that has MPI in it (mpi_transport.cpp) is loaded where a
// run was started by MPI, and knows nothing of fedhive but this header; ranks.h makes of it what the rest of the house speaks to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fedhive::sim {

struct Outgoing {
    std::uint32_t to = 0;
    std::span<const std::byte> bytes;
};

struct Incoming {
    std::uint32_t from = 0;
    std::span<std::byte> bytes;
};

/// Process  one thread only, the same from the first call to the last. No call throws: what goes wrong in MPI itself ends all ranks there.
class Transport {
public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    virtual std::uint32_t rank() const = 0;
    virtual std::uint32_t num_ranks() const = 0;

    /// Sends and receives all of these, in any order; between two ranks, in the order of the list. Sizes must be those of the other side.
    /// Returns the ranks that were still waited for when `go_on`, which is asked again and again, said no, ascending; with them nothing more
    /// can be exchanged, and what was to be sent must stay where it is.
    virtual std::vector<std::uint32_t> exchange(std::span<const Outgoing> out, std::span<const Incoming> in,
                                                const std::function<bool()>& go_on) = 0;

    /// All ranks have come to their end. The last call.
    virtual void leave() = 0;

    /// Ends this process, and as far as MPI reaches all others. Does not return.
    virtual void abort(int status) = 0;
};

/// What the library has to show, under kTransportSymbol: the transport of this process, made at the first call.
using TransportEntry = Transport& (*)();
inline constexpr const char* kTransportSymbol = "fedhive_mpi_transport_1";  // another number for another Transport

}  // namespace fedhive::sim
