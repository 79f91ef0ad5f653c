#include "sim/fleet/board.h"

#include <doctest/doctest.h>

#include <memory>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// A board with three slots of that mode, two chunks, and no worker.
struct BoardOfThree {
    explicit BoardOfThree(const Mode& wanted) {
        options.mode = wanted;
        options.mode.in_flight = options.mode.quorum = 3;
        block = std::make_unique<clients::ControlBlock>(
            clients::ControlBlock::create(board_geometry(options, 2, {.num_slots = 3, .num_aggregates = 1}, {})));
        watcher = std::make_unique<clients::Watcher>([this] { block->header().coordinator_bell.post(); });
        barrier = std::make_unique<clients::RoundBarrier>(*block, *watcher, 60.0, clients::WorkerControl{});
        board = std::make_unique<Board>(options.mode, options.slots, *block, *barrier);
    }

    /// Claims the next task and marks it done; returns its kind and slot.
    std::pair<clients::TaskKind, std::uint32_t> claim() {
        const clients::TaskBoard worker(*block, 0);
        const auto claimed = worker.claim();
        REQUIRE(claimed);
        worker.finish(*claimed, clients::TaskPhase::Done);
        const clients::Task& task = block->task(claimed->task_index).task;
        return {task.kind, task.slot};
    }

    void put(std::uint32_t slot) {
        clients::Task task;
        task.slot = slot;
        board->put(slot, task, DueKey::as_put());
    }

    FleetOptions options;
    std::unique_ptr<clients::ControlBlock> block;
    std::unique_ptr<clients::Watcher> watcher;
    std::unique_ptr<clients::RoundBarrier> barrier;
    std::unique_ptr<Board> board;
};

Mode in_two_parts() {
    Mode mode;
    mode.tasks = {clients::TaskKind::LowerHalf, clients::TaskKind::UpperHalf};
    mode.group = WorkerGroup::Slot;
    return mode;
}

}  // namespace

TEST_SUITE("Board") {
    TEST_CASE("CellsOfSlotsComeBeforeThoseOfChunks") {
        const BoardOfThree one{Mode{}};
        CHECK(one.block->geometry().max_tasks == 5);
        CHECK(one.block->geometry().num_ranks == 0);
        CHECK(one.board->cells_of(2) == std::vector<std::size_t>{2});
        CHECK(one.board->cell_of_chunk(1) == 4);
        const BoardOfThree two(in_two_parts());
        CHECK(two.block->geometry().max_tasks == 8);
        CHECK(two.block->geometry().num_ranks == 6);
        CHECK(two.board->cells_of(2) == std::vector<std::size_t>{4, 5});
        CHECK(two.board->slot_of(5) == 2);
        CHECK(two.board->is_slot(5));
        CHECK_FALSE(two.board->is_slot(6));
        CHECK(two.board->chunk_of(7) == 1);
    }

    TEST_CASE("TheTasksOfASlotAreClaimedSideBySideAndItIsDoneWithTheLast") {
        using enum clients::TaskKind;
        BoardOfThree two(in_two_parts());
        two.put(1);
        two.put(0);
        two.board->ring();
        CHECK(two.claim() == std::pair(LowerHalf, 1U));
        CHECK_FALSE(two.board->is_done(1));
        CHECK(two.claim() == std::pair(UpperHalf, 1U));
        CHECK(two.board->is_done(1));
        CHECK_FALSE(two.board->is_done(0));
        CHECK(two.claim() == std::pair(LowerHalf, 0U));
        CHECK(two.board->num_done(two.board->cells_of(0)) == 1);
    }

    TEST_CASE("RanksOfTheseSlotsAreAsNewAndNoOthers") {
        BoardOfThree two(in_two_parts());
        const std::span<clients::RankCell> ranks = two.block->ranks();
        for (clients::RankCell& rank : ranks) rank.progress = 7;
        const std::vector<std::size_t> slots{0, 2};
        two.board->renew_ranks(slots);
        for (const std::size_t rank : {0, 1, 4, 5}) CHECK(ranks[rank].progress == 0);
        for (const std::size_t rank : {2, 3}) CHECK(ranks[rank].progress == 7);
    }
}
