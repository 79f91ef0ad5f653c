// The collectives that add: along a binomial tree, around a ring, or at rank 0 alone.
#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "clients/protocol/collectives.h"

#include <algorithm>

namespace fedhive::clients {

void Communicator::add(std::size_t to, std::size_t from, Range range) const {
    aggregation::add(span(to, range), span(from, range));
}

void Communicator::reduce(std::size_t count, std::size_t root) {
    require(count, root);
    begin("reduce");
    add_up(count);
    const std::size_t pieces = num_pieces(count);
    if (rank() == root && root != 0) {  // rank 0 has read this rank's piece before it published its own
        for (std::size_t piece = 0; piece < pieces; ++piece) {
            group_.await(0, pieces + piece + 1);
            copy_from(0, piece_of({0, count}, piece));
        }
        publish(2 * pieces);
    }
    const std::size_t parent = rank() & (rank() - 1);
    if (rank() != 0) group_.await(parent, parent == 0 ? 2 * pieces : pieces);
    if (rank() == 0 && root != 0) group_.await(root, 2 * pieces);
}

/// Rank 1 joins 0, 3 joins 2, then 2 joins 0, …: a rank adds its child at each distance below its lowest bit, the nearest
/// first. Steps 1 … pieces: this rank has added that piece of its children's, and its parent may read it. Rank 0 has no parent
/// and publishes steps pieces + 1 … 2 * pieces directly: in copy_down()'s count, the piece is complete.
void Communicator::add_up(std::size_t count) {
    const std::size_t pieces = num_pieces(count);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        for (std::size_t distance = 1; rank() + distance < size() && (rank() & distance) == 0; distance *= 2) {
            group_.await(rank() + distance, piece + 1);
            add(rank(), rank() + distance, piece_of({0, count}, piece));
        }
        publish(rank() == 0 ? pieces + piece + 1 : piece + 1);
    }
}

void Communicator::reduce_scatter(std::size_t count) {
    require(count, 0);
    begin("reduce_scatter");
    add_around(count);
    group_.await((rank() + 1) % size(), (size() - 1) * ring_pieces(count));
}

/// Around the ring: at hop t a rank adds to its own floats the left neighbour's partial sum of the part that belongs to the
/// rank t + 2 to the left. At the last hop that part is its own, and complete. Each piece is written once, then read by the
/// right neighbour. Steps t * pieces + p + 1: this rank has added piece p of hop t.
void Communicator::add_around(std::size_t count) {
    const std::size_t pieces = ring_pieces(count);
    const std::size_t left = (rank() + size() - 1) % size();
    for (std::size_t hop = 0; hop + 1 < size(); ++hop) {
        const Range part = part_of(count, (rank() + 2 * size() - 2 - hop) % size());
        for (std::size_t piece = 0; piece < pieces; ++piece) {
            const std::uint64_t step = hop * pieces + piece + 1;
            group_.await(left, std::max<std::uint64_t>(step, pieces) - pieces);
            add(rank(), left, piece_of(part, piece));
            publish(step);
        }
    }
}

Communicator::Range Communicator::part_of(std::size_t count, std::size_t index) const {
    const std::size_t first = count * index / size();
    return {first, count * (index + 1) / size() - first};
}

std::size_t Communicator::ring_pieces(std::size_t count) const { return num_pieces(divide_up(count, size())); }

void Communicator::all_reduce(std::size_t count, AllReduce how) {
    require(count, 0);
    const std::size_t pieces = num_pieces(count);
    switch (how) {
        case AllReduce::Star:
            begin("all_reduce", "star");
            return star(count);
        case AllReduce::Tree:  // a parent with a complete piece has read its child's, which the child may now overwrite
            begin("all_reduce", "tree");
            add_up(count);
            return copy_down(count, 0, pieces);
        case AllReduce::Ring:  // a complete piece was read from every rank but its owner: these ranks may overwrite theirs
            begin("all_reduce", "ring");
            add_around(count);
            return copy_around(count, (size() - 1) * ring_pieces(count));
    }
}

/// Rank 0's step p + 1: piece p is complete, and it reads the others' piece p no more. The
/// others' step `pieces`: all is copied.
void Communicator::star(std::size_t count) {
    const std::size_t pieces = num_pieces(count);
    for (std::size_t peer = 1; rank() == 0 && peer < size(); ++peer) group_.await(peer, 0);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        const Range range = piece_of({0, count}, piece);
        if (rank() != 0) {
            group_.await(0, piece + 1);
            copy_from(0, range);
            continue;
        }
        for (std::size_t distance = 1; distance < size(); distance *= 2)
            for (std::size_t peer = 0; peer + distance < size(); peer += 2 * distance) add(peer, peer + distance, range);
        publish(piece + 1);
    }
    if (rank() != 0) publish(pieces);
    for (std::size_t peer = 1; rank() == 0 && peer < size(); ++peer) group_.await(peer, pieces);
}

}  // namespace fedhive::clients
