// Collective operations of R ranks whose buffers are in one arena: a rank reads the buffers
// of others in place; nothing is sent.
//
//   rank r in a collective                    its progress, which others read (rank_group.h)
//   begin ── its buffer may be read           step 0
//     await a peer's step, then copy or add
//     the peer's floats into the own buffer   step 1, 2, …: each makes one more piece of the buffer ready for the next reader
//   end   ── await the readers of its buffer
//
//   Word          Who writes it
//   buffer r      rank r only; in all_reduce(Star) rank 0 also adds in the buffers of the others, which wait meanwhile
//   progress r    rank r
//
// No rank overwrites floats that another still reads: (1) A collective returns only when all reads of this rank's buffer are
// done. Between two collectives, and at the beginning of one, only the rank itself uses its buffer. (2) Within a collective, a
// rank writes a piece for the second time only after it has awaited a step that follows every read of the first; each
// algorithm's comment names that step.
//
// Pieces   long buffers are cut into pieces of 64 KiB on the host, 4 MiB on CUDA. Each piece has a step, so that a neighbour
//          can begin with the first piece while the second is still being added.
// Place    a buffer for the parts of all ranks holds rank r's part at r * count, this rank's own in place, as with MPI_IN_PLACE. A buffer
//          for one part holds it at the beginning.
// Process  all ranks call the same operations in the same order, with the same count and root. Violations are not detected:
//          they end in wrong sums or at the deadline.
// Memory   all work is done in the buffers; nothing is allocated.
// Stream   CUDA work runs on the legacy default stream and is waited for before its step is published.
// Throws   RankMissing  past the deadline of a wait, or when another rank has left;  GroupLeft  this rank is to stop;
//          Fault  count or root too large. This rank has then left the group, or leaves it when the exception destroys the
//          Communicator; the contents of the buffers are unspecified.
// Cost     n is 4 * count bytes; "read" counts the bytes that a rank reads from the buffers of others.
// Tested   tests/clients/protocol/collectives_test.cpp, rank_group_test.cpp
#pragma once

#include "aggregation/base/words.h"
#include "aggregation/memory/param_span.h"
#include "clients/protocol/rank_group.h"

#include <vector>

namespace fedhive::clients {

enum class AllReduce : std::uint32_t { Star, Ring, Tree };
constexpr auto all_words(AllReduce) { return std::array{"star", "ring", "tree"}; }

/// A group of ranks, and the number of one rank in it.
struct GroupOptions {
    std::span<RankCell> cells;                    // of all ranks, in shared memory
    std::size_t rank = 0;                         // this rank
    std::vector<aggregation::ParamSpan> buffers;  // of all ranks, as mapped here; equal sizes, one memory space
    double deadline_s = 60.0;                     // limit of each single wait
    std::function<bool()> stopping = {};          // polled during waits; true: this rank is to stop
};

class Communicator {
public:
    /// Throws ShapeError when the buffers differ in size or space, or when there is not one for each cell.
    explicit Communicator(GroupOptions options);

    std::size_t rank() const { return group_.rank(); }
    std::size_t size() const { return group_.size(); }
    aggregation::ParamSpan buffer() const { return buffers_[rank()]; }

    /// The range [count * index / R, count * (index + 1) / R) of the own buffer, where
    /// reduce_scatter(count) places the part of rank `index`.
    aggregation::ParamSpan part(std::size_t count, std::size_t index) const;

    /// Sets the limit of each later wait, > 0 s.
    void set_deadline(double seconds) { group_.set_deadline(seconds); }

    /// Returns when all ranks have called it. Cost: ceil(log2 R) steps, no data.
    /// Source   dissemination barrier: Hensgen, Finkel, Manber 1988, "Two algorithms for barrier synchronization",
    ///          doi:10.1007/BF01379320.
    void barrier();

    /// Copies root's first `count` floats into the buffers of all ranks.
    /// Cost     ceil(log2 R) steps in pieces, n read by each rank but the root.
    /// Source   binomial tree, as all_reduce(Tree).
    void broadcast(std::size_t count, std::size_t root);

    /// Copies part r of root's buffer, [r * count, (r + 1) * count), to the beginning of
    /// rank r's. Root's buffer stays unchanged.
    /// Cost     1 step, n read by each rank but the root. Buffers of R * count floats.
    void scatter(std::size_t count, std::size_t root);

    /// Copies the first `count` floats of each rank r but the root to r * count in root's
    /// buffer; root's own must be there already.
    /// Cost     1 step, (R-1) n read by the root. Buffers of R * count floats.
    void gather(std::size_t count, std::size_t root);

    /// Copies each rank r's part, at r * count in its own buffer, to the same place in all buffers.
    /// Cost     R-1 steps in pieces, (R-1) n read by each rank. Buffers of R * count floats.
    /// Source   ring, as all_reduce(Ring).
    void all_gather(std::size_t count);

    /// Root's buffer = the sum of all buffers' first `count` floats; the other buffers hold partial sums afterwards.
    /// Order    the tree of tree_folds (aggregation/math/mean.h) over ranks, f32, independent of the root.
    /// Cost     ceil(log2 R) steps in pieces, n ceil(log2 R) read by rank 0, less by others;
    ///          a root other than 0 copies n from it.
    void reduce(std::size_t count, std::size_t root);

    /// Rank r's buffer = its part of the sum (see part()); the rest of the buffer holds partial sums afterwards.
    /// Order    part r is summed around the ring, its owner last: ((b[r+1] + b[r+2]) + …) + b[r], ranks modulo R, f32.
    /// Cost     R-1 steps in pieces, n (R-1)/R read by each rank.
    void reduce_scatter(std::size_t count);

    /// Every buffer = the sum of all buffers' first `count` floats, with the same bits at every rank.
    ///
    /// Star     rank 0 adds all buffers, the others copy its sum, as in DataParallel.
    ///   Order  tree_folds over ranks, as reduce().
    ///   Cost   2 steps in pieces; 2 n read by rank 0, n by the others.
    /// Tree     reduce to rank 0, then broadcast, piece by piece.
    ///   Order  tree_folds over ranks: the bits of Star.
    ///   Cost   2 ceil(log2 R) steps in pieces; n ceil(log2 R) read by rank 0, less by inner ranks, n by the others.
    ///   Source Thakur, Rabenseifner, Gropp 2005, "Optimization of collective communication operations in MPICH",
    ///          doi:10.1177/1094342005051521: its binomial trees.
    /// Ring     reduce_scatter, then all_gather of the parts.
    ///   Order  as reduce_scatter(), so that the bits differ from those of Star.
    ///   Cost   2 steps in pieces; 2 n (R-1) / R read by each rank.
    ///   Source Patarasuk, Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
    ///          doi:10.1016/j.jpdc.2008.09.002.
    void all_reduce(std::size_t count, AllReduce how);

    /// Returns the objects of all ranks, by rank, at the root, and an empty list at the others. For small objects.
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
