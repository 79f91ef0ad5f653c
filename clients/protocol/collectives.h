// Collective operations of R ranks whose buffers lie in one arena: each rank reads the others' where they are, and nothing is sent.
//
//   rank r in a collective                    seen by the others as progress (rank_group.h)
//   begin ── its buffer may be read           step 0
//     await a peer's step, then copy or add
//     the peer's floats into the own buffer   step 1, 2, … each says: this much of my buffer is as it will be read next
//   end   ── await those who read its buffer
//
//   who writes what
//   buffer r      rank r only; in all_reduce(Star) rank 0 also adds in the buffers of the others, who wait meanwhile
//   progress r    rank r
//
// Why nobody overwrites what somebody still reads: (1) when a collective returns, all who read this rank's buffer in it are past
// that, so between two collectives, and at the beginning of one, a rank's buffer is its own; (2) inside, a rank writes a piece for the
// second time only after it has awaited a step that lies behind every read of the first: each algorithm's comment names that step.
//
// Pieces   long buffers are cut into pieces of 64 KiB on the host, 4 MiB on CUDA. There is a step for each piece, so that a neighbour
//          begins with the first while the second is still added.
// Place    where a rank holds the parts of all ranks, its own is in its place already, rank r's at r * count, as with MPI_IN_PLACE;
//          where it holds its own part only, that is at the beginning.
// Process  all ranks call the same operations in the same order, with the same count and root. A mistake in that is not found: it ends
//          in wrong sums or at the deadline.
// Memory   all work is done in the buffers; nothing is allocated.
// Stream   CUDA work runs on the legacy default stream and is waited for before its step is published.
// Throws   RankMissing  past the deadline of a wait, or when another rank has left;  GroupLeft  this rank is to stop;
//          Fault  count or root too large. By then this rank has left the group, or leaves it when the Communicator dies by that
//          exception; the buffers are unspecified.
// Cost     n is 4 * count bytes; "read" is what a rank reads from the buffers of others.
// Tested   tests/clients/protocol/collectives_test.cpp, rank_group_test.cpp
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/protocol/rank_group.h"

#include <vector>

namespace fedhive::clients {

enum class AllReduce : std::uint32_t { Star, Ring, Tree };

/// What makes a group, and one rank's place in it.
struct GroupOptions {
    std::span<RankCell> cells;                    // of all ranks, in shared memory
    std::size_t rank = 0;                         // this one
    std::vector<aggregation::ParamSpan> buffers;  // of all ranks, as mapped here; of one size, in one memory space
    double deadline_s = 60.0;                     // of each single wait
    std::function<bool()> stopping = {};          // asked while waiting
};

class Communicator {
public:
    /// Throws ShapeError when the buffers differ, or are not one for each cell.
    explicit Communicator(GroupOptions options);

    std::size_t rank() const { return group_.rank(); }
    std::size_t size() const { return group_.size(); }
    aggregation::ParamSpan buffer() const { return buffers_[rank()]; }

    /// Where reduce_scatter(count) leaves the part of rank `index`, here in the own buffer: from count * index / R to
    /// count * (index + 1) / R.
    aggregation::ParamSpan part(std::size_t count, std::size_t index) const;

    /// Of each wait from now on, > 0 s.
    void set_deadline(double seconds) { group_.set_deadline(seconds); }

    /// Returns once all ranks have called it. Cost: ceil(log2 R) steps, nothing moved.
    /// Source   dissemination barrier: Hensgen, Finkel, Manber 1988, "Two algorithms for barrier synchronization",
    ///          doi:10.1007/BF01379320.
    void barrier();

    /// Root's first `count` floats into everybody's.
    /// Cost     ceil(log2 R) steps in pieces, n read by each rank but the root.
    /// Source   binomial tree, as all_reduce(Tree).
    void broadcast(std::size_t count, std::size_t root);

    /// Part r of root's buffer, [r * count, (r + 1) * count), to the beginning of rank r's; root's buffer stays as it is.
    /// Cost     1 step, n read by each rank but the root. Buffers of R * count floats.
    void scatter(std::size_t count, std::size_t root);

    /// The first `count` floats of each rank but the root to r * count in root's buffer; root's own are there already.
    /// Cost     1 step, (R-1) n read by the root. Buffers of R * count floats.
    void gather(std::size_t count, std::size_t root);

    /// Everybody's part, which lies at r * count in its own buffer, to the same place in all buffers.
    /// Cost     R-1 steps in pieces, (R-1) n read by each rank. Buffers of R * count floats.
    /// Source   ring, as all_reduce(Ring).
    void all_gather(std::size_t count);

    /// The sum of all buffers' first `count` floats, in root's; the other buffers hold partial sums afterwards.
    /// Order    the tree of tree_folds (aggregation/math/mean.h) over ranks, f32, whatever the root.
    /// Cost     ceil(log2 R) steps in pieces, n ceil(log2 R) read by rank 0, less by others; a root other than 0 copies n from it.
    void reduce(std::size_t count, std::size_t root);

    /// Rank r's part of the sum (see part()) in its own buffer; the rest of the buffer holds partial sums afterwards.
    /// Order    part r is summed around the ring, its owner last: ((b[r+1] + b[r+2]) + …) + b[r], ranks modulo R, f32.
    /// Cost     R-1 steps in pieces, n (R-1)/R read by each rank.
    void reduce_scatter(std::size_t count);

    /// The sum of all buffers' first `count` floats, in every buffer; the same bits at every rank.
    ///
    /// Star     rank 0 adds all, the others copy its sum: what DataParallel does.
    ///   Order  tree_folds over ranks, as reduce().
    ///   Cost   2 steps in pieces; 2 n read by rank 0, n by the others.
    /// Tree     reduce to rank 0, then broadcast, piece by piece.
    ///   Order  tree_folds over ranks: the bits of Star.
    ///   Cost   2 ceil(log2 R) steps in pieces; n ceil(log2 R) read by rank 0, less by inner ranks, n by the others.
    ///   Source Thakur, Rabenseifner, Gropp 2005, "Optimization of collective communication operations in MPICH",
    ///          doi:10.1177/1094342005051521: its binomial trees.
    /// Ring     reduce_scatter, then all_gather of the parts.
    ///   Order  as reduce_scatter(), so its bits are not those of Star.
    ///   Cost   2 steps in pieces; 2 n (R-1) / R read by each rank.
    ///   Source Patarasuk, Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
    ///          doi:10.1016/j.jpdc.2008.09.002.
    void all_reduce(std::size_t count, AllReduce how);

    /// Small objects: root gets those of all ranks, by rank; the others get an empty list.
    /// Throws   ShapeError  more than RankCell::kObjectBytes.   Cost   1 step.
    std::vector<std::vector<std::byte>> gather_object(std::span<const std::byte> mine, std::size_t root);

private:
    struct Range {
        std::size_t first = 0, count = 0;
    };

    void begin(const char* name, const char* algorithm = "");
    void publish(std::uint64_t step);
    void require(std::size_t floats, std::size_t root) const;
    aggregation::ParamSpan span(std::size_t rank, Range range) const;
    void copy_from(std::size_t peer, Range range) { copy(peer, range, rank(), range); }
    void copy(std::size_t from, Range source, std::size_t to, Range target) const;
    void add(std::size_t to, std::size_t from, Range range) const;

    std::size_t piece_floats() const;
    std::size_t num_pieces(std::size_t count) const;
    Range piece_of(Range range, std::size_t piece) const;
    Range part_of(std::size_t count, std::size_t index) const;
    std::size_t ring_pieces(std::size_t count) const;

    void add_up(std::size_t count);
    void copy_down(std::size_t count, std::size_t root, std::uint64_t base);
    void add_around(std::size_t count);
    void copy_around(std::size_t count, std::uint64_t base);
    void star(std::size_t count);

    std::vector<aggregation::ParamSpan> buffers_;
    RankGroup group_;
};

}  // namespace fedhive::clients
