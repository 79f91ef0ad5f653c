// What clients keep from one round to the next: a vector for each, zero until it is first added to, in host memory or a file without a name that
// workers read and the coordinator alone writes. A client that has never been added to takes no room in either.
//
//   [ kept: a byte a client | pad | client 0 | client 1 | … ]      each client's vector on pages of its own
#pragma once

#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace fedhive::aggregation {

class ClientStates {
public:
    /// Nobody keeps anything, ever.
    ClientStates() = default;

    /// For `clients` vectors of `floats`. Memory: a byte a client, and what add() and set() take.
    static ClientStates create(std::uint64_t clients, std::uint64_t floats);

    /// In a file of the folder's file system instead: the kernel keeps of it in memory what it likes. Throws Fault naming the folder.
    static ClientStates create_in(const std::filesystem::path& folder, std::uint64_t clients, std::uint64_t floats);

    /// In a process that has inherited descriptor(): to read.
    static ClientStates open(int descriptor, std::uint64_t clients, std::uint64_t floats);

    int descriptor() const { return descriptor_; }
    std::uint64_t clients() const { return clients_; }
    std::uint64_t floats() const { return floats_; }
    bool lies_in_file() const { return in_file_; }

    /// Whether a client's vector has ever been added to or set.
    bool keeps(std::uint64_t client) const;

    /// [floats], in host memory; empty for one that keeps nothing.
    ConstParamSpan of(std::uint64_t client) const;

    /// state += change; [floats] in host memory. Throws Fault where there is no memory, or no room on the disk, for one more client. What lies in
    /// a file is on its way to the disk then, and out of this process's memory.
    void add(std::uint64_t client, ConstParamSpan change);
    void set(std::uint64_t client, ConstParamSpan state);

    /// What of() gave is read: where it lies in a file, its pages are not this process's any more, and come back where they are read again.
    void let_go(std::uint64_t client) const;
    /// The same of the client whose these bytes are; of all others nothing happens.
    void let_go(std::string_view bytes) const;

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

    void write_back(std::uint64_t client) const;

    std::shared_ptr<const void> segment_;
    std::byte* base_ = nullptr;
    int descriptor_ = -1;
    std::uint64_t clients_ = 0, floats_ = 0;
    bool in_file_ = false;
    std::filesystem::path folder_;  // whose disk has to have room; known to the one that writes
};

}  // namespace fedhive::aggregation
