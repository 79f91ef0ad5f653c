#include "aggregation/memory/client_states.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"
#include "aggregation/memory/shared_segment.h"
#include "aggregation/memory/unnamed_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace fedhive::aggregation {

namespace {

/// `bytes`, rounded up to whole pages.
std::uint64_t room_of(std::uint64_t bytes) {
    constexpr std::uint64_t kPageBytes = 4096;
    return round_up(bytes, kPageBytes);
}

std::uint64_t bytes_of(std::uint64_t clients, std::uint64_t floats) {
    return room_of(clients) + clients * ClientStates::bytes_each(floats);
}

}  // namespace

std::uint64_t ClientStates::bytes_each(std::uint64_t floats) { return room_of(floats * sizeof(float)); }

ClientStates ClientStates::create(std::uint64_t clients, std::uint64_t floats) {
    auto segment = std::make_shared<SharedSegment>("fedhive-states", room_of(clients), bytes_of(clients, floats));
    std::byte* base = segment->data();
    const int descriptor = segment->descriptor();
    return {std::move(segment), base, descriptor, clients, floats};
}

ClientStates ClientStates::create_in(const std::filesystem::path& folder, std::uint64_t clients, std::uint64_t floats) {
    auto file = std::make_shared<UnnamedFile>(folder, room_of(clients), bytes_of(clients, floats));
    std::byte* base = file->data();
    const int descriptor = file->descriptor();
    ClientStates states{std::move(file), base, descriptor, clients, floats};
    states.in_file_ = !lies_in_memory(descriptor);
    states.folder_ = folder;
    return states;
}

ClientStates ClientStates::open(int descriptor, std::uint64_t clients, std::uint64_t floats) {
    auto view = std::make_shared<SharedSegmentView>(descriptor, bytes_of(clients, floats), SegmentAccess::ReadOnly);
    std::byte* base = view->data();
    ClientStates states{std::move(view), base, descriptor, clients, floats};
    states.in_file_ = !lies_in_memory(descriptor);
    return states;
}

std::uint64_t ClientStates::offset_of(std::uint64_t client) const { return room_of(clients_) + client * bytes_each(floats_); }

ParamSpan ClientStates::vector_of(std::uint64_t client) const {
    return {reinterpret_cast<float*>(base_ + offset_of(client)), floats_, MemorySpace::Host};
}

bool ClientStates::keeps(std::uint64_t client) const {
    FEDHIVE_CHECK(client < clients_, "client {} of {} that may keep something", client, clients_);
    return base_[client] != std::byte{0};
}

ConstParamSpan ClientStates::of(std::uint64_t client) const {
    return keeps(client) ? ConstParamSpan(vector_of(client)) : ConstParamSpan();
}

/// Allocates the client's pages here: at first touch, a lack of space would be a SIGBUS.
ParamSpan ClientStates::make_room(std::uint64_t client) {
    if (keeps(client)) return vector_of(client);
    const auto bytes = static_cast<off_t>(bytes_each(floats_));
    int error = EINTR;
    while (error == EINTR) error = posix_fallocate(descriptor_, static_cast<off_t>(offset_of(client)), bytes);
    if (error != 0 && !folder_.empty())
        throw Fault(
            fmt::format("the state of client {} needs {} bytes on the disk of {}, but {} bytes are free: {}; free space, then "
                        "resume the run",
                        client, bytes, folder_.string(), free_disk_bytes(folder_), std::strerror(error)));
    if (error != 0)
        throw Fault(fmt::format("the state of client {} needs {} bytes of memory, but {} bytes are available: {}", client,
                                bytes, available_memory_bytes(), std::strerror(error)));
    base_[client] = std::byte{1};
    return vector_of(client);
}

void ClientStates::change(std::uint64_t client, std::span<const RecordChange> changes) {
    const ParamSpan record = make_room(client);
    for (const RecordChange& change : changes) {
        FEDHIVE_CHECK(change.first <= floats_ && change.values.size <= floats_ - change.first,
                      "{} floats from {} on, of a record of {}", change.values.size, change.first, floats_);
        float* const part = record.data + change.first;
        if (!change.adds)
            std::memcpy(part, change.values.data, change.values.size * sizeof(float));
        else
            for (std::size_t i = 0; i < change.values.size; ++i) part[i] += change.values.data[i];
    }
    write_back(client);
}

void ClientStates::change_all(std::uint64_t client, const RecordChange& by) {
    FEDHIVE_CHECK_EQ(by.values.size, floats_);
    change(client, {&by, 1});
}

/// The file keeps the pages, written back or not. If the kernel refuses, they also stay mapped.
void ClientStates::release_pages(std::uint64_t client) const {
    if (in_file_) madvise(base_ + offset_of(client), bytes_each(floats_), MADV_DONTNEED);
}

void ClientStates::release_pages(std::string_view bytes) const {
    if (!in_file_) return;
    const auto first = reinterpret_cast<std::uintptr_t>(base_) + room_of(clients_);
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    if (begin >= first && begin < first + clients_ * bytes_each(floats_)) release_pages((begin - first) / bytes_each(floats_));
}

/// Starts the write-back without waiting, so that under memory pressure the kernel finds clean pages to evict.
void ClientStates::write_back(std::uint64_t client) const {
    if (!in_file_) return;
    sync_file_range(descriptor_, static_cast<off64_t>(offset_of(client)), static_cast<off64_t>(bytes_each(floats_)),
                    SYNC_FILE_RANGE_WRITE);
    release_pages(client);
}

std::vector<std::uint64_t> ClientStates::keepers() const {
    std::vector<std::uint64_t> found;
    for (std::uint64_t client = 0; client < clients_; ++client)
        if (keeps(client)) found.push_back(client);
    return found;
}

}  // namespace fedhive::aggregation
