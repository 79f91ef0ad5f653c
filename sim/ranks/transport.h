// Transfer of bytes between ranks: everything that fedhive needs from MPI. The library with MPI (mpi_transport.cpp) is loaded
// only in runs started by MPI, and includes nothing of fedhive but this header; ranks.h builds the interface for all other
// code.
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

/// Process  call from one thread only, always the same. No call throws: an error inside MPI ends all ranks.
class Transport {
public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    virtual std::uint32_t rank() const = 0;
    virtual std::uint32_t num_ranks() const = 0;

    /// Sends and receives all of these; between two ranks, in list order. Sizes must match on both sides. Calls `go_on`
    /// repeatedly; when it returns false, returns the ranks that were still awaited, ascending: nothing more can be exchanged
    /// with them, and the outgoing bytes must remain valid.
    virtual std::vector<std::uint32_t> exchange(std::span<const Outgoing> out, std::span<const Incoming> in,
                                                const std::function<bool()>& go_on) = 0;

    /// Collective: all ranks have finished. The last call.
    virtual void leave() = 0;

    /// Ends this process, and, as far as MPI can, all others. Does not return.
    virtual void abort(int status) = 0;
};

/// The entry of the library, under kTransportSymbol: this process's transport, created at the first call.
using TransportEntry = Transport& (*)();
inline constexpr const char* kTransportSymbol = "fedhive_mpi_transport_1";  // change the number when Transport changes

}  // namespace fedhive::sim
