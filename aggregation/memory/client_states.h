// What clients keep from one round to the next: a vector for each, zero until it is first added to, in host memory that workers read and the
// coordinator alone writes. A client that has never been added to takes no memory.
//
//   [ kept: a byte a client | pad | client 0 | client 1 | … ]      each client's vector on pages of its own
#pragma once

#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fedhive::aggregation {

class ClientStates {
public:
    /// Nobody keeps anything, ever.
    ClientStates() = default;

    /// For `clients` vectors of `floats`. Memory: a byte a client, and what add() and set() take.
    static ClientStates create(std::uint64_t clients, std::uint64_t floats);

    /// In a process that has inherited descriptor(): to read.
    static ClientStates open(int descriptor, std::uint64_t clients, std::uint64_t floats);

    int descriptor() const { return descriptor_; }
    std::uint64_t clients() const { return clients_; }
    std::uint64_t floats() const { return floats_; }

    /// Whether a client's vector has ever been added to or set.
    bool keeps(std::uint64_t client) const;

    /// [floats], in host memory; empty for one that keeps nothing.
    ConstParamSpan of(std::uint64_t client) const;

    /// state += change; [floats] in host memory. Throws Fault where there is no memory for one more client.
    void add(std::uint64_t client, ConstParamSpan change);
    void set(std::uint64_t client, ConstParamSpan state);

    /// Who keeps something, ascending.
    std::vector<std::uint64_t> keepers() const;

    /// Of one client's vector, whole pages.
    static std::uint64_t bytes_each(std::uint64_t floats);

private:
    ClientStates(std::shared_ptr<const void> segment, std::byte* base, int descriptor, std::uint64_t clients,
                 std::uint64_t floats)
        : segment_(std::move(segment)), base_(base), descriptor_(descriptor), clients_(clients), floats_(floats) {}
    std::uint64_t offset_of(std::uint64_t client) const;
    ParamSpan vector_of(std::uint64_t client) const;
    ParamSpan make_room(std::uint64_t client);

    std::shared_ptr<const void> segment_;
    std::byte* base_ = nullptr;
    int descriptor_ = -1;
    std::uint64_t clients_ = 0, floats_ = 0;
};

}  // namespace fedhive::aggregation
