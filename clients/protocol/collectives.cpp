// The collectives that only copy floats and objects, and the steps and pieces that all
// collectives share; sums are in all_reduce.cpp.
#include "clients/protocol/collectives.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>
#include <cstring>

namespace fedhive::clients {

namespace {

constexpr std::size_t kHostPiece = 16 * 1024;    // floats: two pieces fit a second-level cache
constexpr std::size_t kCudaPiece = 1024 * 1024;  // a launch and its wait cost 10 us, in which a device moves some 10 MB

}  // namespace

Communicator::Communicator(GroupOptions options)
    : buffers_(std::move(options.buffers)),
      group_(options.cells, options.rank, options.deadline_s, std::move(options.stopping)) {
    FEDHIVE_CHECK_EQ(buffers_.size(), size());
    for (const aggregation::ParamSpan& other : buffers_) {
        FEDHIVE_CHECK_EQ(other.size, buffer().size);
        if (other.space != buffer().space) throw ShapeError("the buffers of a group are in different memory spaces");
    }
}

aggregation::ParamSpan Communicator::part(std::size_t count, std::size_t index) const {
    require(count, index);
    return span(rank(), part_of(count, index));
}

void Communicator::begin(const char* name, const char* algorithm) {
    aggregation::synchronize(buffer().space);
    group_.begin(name, algorithm);
}

void Communicator::publish(std::uint64_t step) {
    aggregation::synchronize(buffer().space);
    group_.publish(step);
}

void Communicator::require(std::size_t floats, std::size_t root) const {
    FEDHIVE_CHECK(floats <= buffer().size, "{} floats in a buffer of {}", floats, buffer().size);
    FEDHIVE_CHECK(root < size(), "rank {} of {}", root, size());
}

aggregation::ParamSpan Communicator::span(std::size_t rank, Range range) const {
    const aggregation::ParamSpan& all = buffers_[rank];
    return {all.data + range.first, range.count, all.space};
}

void Communicator::copy(std::size_t from, Range source, std::size_t to, Range target) const {
    aggregation::copy(span(to, target), span(from, source));
}

std::size_t Communicator::piece_floats() const {
    return buffer().space == aggregation::MemorySpace::Host ? kHostPiece : kCudaPiece;
}

std::size_t Communicator::num_pieces(std::size_t count) const { return divide_up(count, piece_floats()); }

Communicator::Range Communicator::piece_of(Range range, std::size_t piece) const {
    const std::size_t begin = std::min(piece * piece_floats(), range.count);
    return {range.first + begin, std::min(piece_floats(), range.count - begin)};
}

void Communicator::barrier() {
    begin("barrier");
    for (std::size_t step = 0, distance = 1; distance < size(); ++step, distance *= 2) {
        group_.publish(step);
        group_.await((rank() + size() - distance) % size(), step);
    }
}

void Communicator::broadcast(std::size_t count, std::size_t root) {
    require(count, root);
    begin("broadcast");
    if (rank() == root) publish(num_pieces(count));
    copy_down(count, root, 0);
}

/// Copies root's buffer down a binomial tree. Ranks are counted from the root; a rank's parent has its number without the
/// lowest bit. Steps base + 1 … base + pieces: this rank has that piece; the root has published them before. Afterwards, only
/// its children read a rank's buffer.
void Communicator::copy_down(std::size_t count, std::size_t root, std::uint64_t base) {
    const std::size_t place = (rank() + size() - root) % size();
    const std::size_t pieces = num_pieces(count);
    const std::size_t parent = (root + (place & (place - 1))) % size();
    for (std::size_t piece = 0; place != 0 && piece < pieces; ++piece) {
        group_.await(parent, base + piece + 1);
        copy_from(parent, piece_of({0, count}, piece));
        publish(base + piece + 1);
    }
    for (std::size_t distance = 1; place + distance < size() && (place & distance) == 0; distance *= 2)
        group_.await((rank() + distance) % size(), base + pieces);
}

void Communicator::scatter(std::size_t count, std::size_t root) {
    require(count * size(), root);
    begin("scatter");
    if (rank() == root) {
        for (std::size_t peer = 0; peer < size(); ++peer)
            if (peer != root) group_.await(peer, 1);
        return;
    }
    group_.await(root, 0);
    copy(root, {rank() * count, count}, rank(), {0, count});
    publish(1);
}

void Communicator::gather(std::size_t count, std::size_t root) {
    require(count * size(), root);
    begin("gather");
    if (rank() != root) return group_.await(root, 1);
    for (std::size_t peer = 0; peer < size(); ++peer) {
        if (peer == root) continue;
        group_.await(peer, 0);
        copy(peer, {0, count}, root, {peer * count, count});
    }
    publish(1);
}

void Communicator::all_gather(std::size_t count) {
    require(count * size(), 0);
    begin("all_gather");
    copy_around(count * size(), 0);
}

/// Around the ring: at hop t a rank copies from its left neighbour the part of the rank t + 1 to the left. Each piece is
/// written once, before its step, and read by the right neighbour after it.
/// Steps base + t * pieces + p + 1: this rank has piece p of hop t. Piece p of its own part is ready `pieces` steps before
/// piece p of hop 0, or at step 0.
void Communicator::copy_around(std::size_t count, std::uint64_t base) {
    const std::size_t pieces = ring_pieces(count);
    const std::size_t left = (rank() + size() - 1) % size();
    for (std::size_t hop = 0; hop + 1 < size(); ++hop) {
        const Range part = part_of(count, (rank() + size() - 1 - hop) % size());
        for (std::size_t piece = 0; piece < pieces; ++piece) {
            const std::uint64_t step = base + hop * pieces + piece + 1;
            group_.await(left, std::max<std::uint64_t>(step, pieces) - pieces);
            copy_from(left, piece_of(part, piece));
            publish(step);
        }
    }
    group_.await((rank() + 1) % size(), base + (size() - 1) * pieces);
}

std::vector<std::vector<std::byte>> Communicator::gather_object(std::span<const std::byte> mine, std::size_t root) {
    require(0, root);
    if (mine.size() > RankCell::kObjectBytes)
        throw ShapeError(fmt::format("an object of {} bytes, there is room for {}", mine.size(), RankCell::kObjectBytes));
    RankCell& own = group_.cell(rank());
    own.object_bytes = mine.size();
    if (!mine.empty()) std::memcpy(own.object.data(), mine.data(), mine.size());
    begin("gather_object");
    std::vector<std::vector<std::byte>> all;
    if (rank() != root) {
        group_.await(root, 1);
        return all;
    }
    for (std::size_t peer = 0; peer < size(); ++peer) {
        group_.await(peer, 0);
        const RankCell& cell = group_.cell(peer);
        const auto bytes = std::min<std::size_t>(cell.object_bytes, RankCell::kObjectBytes);
        all.emplace_back(cell.object.begin(), cell.object.begin() + static_cast<std::ptrdiff_t>(bytes));
    }
    publish(1);
    return all;
}

}  // namespace fedhive::clients
