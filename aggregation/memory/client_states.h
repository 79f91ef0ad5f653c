// Per-client state that lives across rounds: one record for each client. A record holds the client's memories (memories.h) end to end and
// is zero until its first change. Records are stored in host memory or in an unnamed file; the coordinator writes them, workers only
// read them. A client without state takes no space.
//
//   [ kept: one byte per client | pad | client 0 | client 1 | … ]      each client's record begins on a page of its own
#pragma once

#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace fedhive::aggregation {

/// A change of one part of a record.
struct RecordChange {
    std::uint64_t first = 0;  // floats, from the record's start
    ConstParamSpan values;    // in host memory
    bool adds = false;        // true: record += values; false: record = values
};

class ClientStates {
public:
    /// States of no client.
    ClientStates() = default;

    /// Room for `clients` records of `floats` floats, in host memory. Memory: one byte per client, and bytes_each() for each
    /// client that is changed.
    static ClientStates create(std::uint64_t clients, std::uint64_t floats);

    /// Room for `clients` records of `floats` floats in an unnamed file on the file system of `folder`; the operating system decides which
    /// pages it caches. Throws Fault naming the folder.
    static ClientStates create_in(const std::filesystem::path& folder, std::uint64_t clients, std::uint64_t floats);

    /// Opens the states read-only in a process that has inherited descriptor().
    static ClientStates open(int descriptor, std::uint64_t clients, std::uint64_t floats);

    int descriptor() const { return descriptor_; }
    std::uint64_t clients() const { return clients_; }
    std::uint64_t floats() const { return floats_; }
    bool lies_in_file() const { return in_file_; }

    /// Whether the client was ever changed.
    bool keeps(std::uint64_t client) const;

    /// The client's state, [floats] in host memory; empty if it has none.
    ConstParamSpan of(std::uint64_t client) const;

    /// Makes all changes of one accepted update. Throws Fault when memory, or the disk, has no room for one more client. In a
    /// file, the record's write-back is started and its pages are released from this process.
    void change(std::uint64_t client, std::span<const RecordChange> changes);

    /// add: record += change; set: record = state. Both spans have as many floats as a record, in host memory.
    void add(std::uint64_t client, ConstParamSpan change) { change_all(client, {0, change, true}); }
    void set(std::uint64_t client, ConstParamSpan state) { change_all(client, {0, state, false}); }

    /// If the states are stored in a file: removes the record's pages from this process's memory. A later read loads them again.
    void release_pages(std::uint64_t client) const;
    /// release_pages() of the client whose record contains the first of `bytes`; no effect for bytes outside the states.
    void release_pages(std::string_view bytes) const;

    /// The clients that have a state, in ascending order.
    std::vector<std::uint64_t> keepers() const;

    /// Bytes of one client's record, rounded up to whole pages of 4 KiB.
    static std::uint64_t bytes_each(std::uint64_t floats);

private:
    ClientStates(std::shared_ptr<const void> segment, std::byte* base, int descriptor, std::uint64_t clients,
                 std::uint64_t floats)
        : segment_(std::move(segment)), base_(base), descriptor_(descriptor), clients_(clients), floats_(floats) {}
    std::uint64_t offset_of(std::uint64_t client) const;
    ParamSpan vector_of(std::uint64_t client) const;
    ParamSpan make_room(std::uint64_t client);
    void change_all(std::uint64_t client, const RecordChange& by);
    void write_back(std::uint64_t client) const;

    std::shared_ptr<const void> segment_;
    std::byte* base_ = nullptr;
    int descriptor_ = -1;
    std::uint64_t clients_ = 0, floats_ = 0;
    bool in_file_ = false;
    std::filesystem::path folder_;  // on whose disk the file is stored; set in the writing process only
};

}  // namespace fedhive::aggregation
