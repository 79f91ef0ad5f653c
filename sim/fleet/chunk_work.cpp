#include "sim/fleet/chunk_work.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"

#include <algorithm>

namespace fedhive::sim {

using clients::Task;
using clients::TaskKind;

namespace {

/// A run that has not begun counts as its first round.
std::uint32_t told_round(std::int64_t round) { return static_cast<std::uint32_t>(std::max<std::int64_t>(0, round)); }

}  // namespace

std::uint64_t most_chunks(const FleetOptions& options, const clients::DatasetMap& data,
                          const aggregation::ArenaGeometry& arena) {
    return std::max((data.num_test + options.test_chunk - 1) / options.test_chunk, num_ranges(arena));
}

/// Puts a task a chunk on the board, waits for all of them and says how many there were.
std::size_t ChunkWork::run(Task task, std::uint64_t total, std::uint64_t size) {
    task.deadline_s = deadlines_.of_chunk();
    const std::vector<std::size_t> cells = chunks_.put(task, total, size);
    board_.ring();
    try {
        wait_.until([&] { return Awaited{cells, cells.size()}; }, kGrace);
    } catch (const clients::Interrupted& interrupted) {
        throw clients::Interrupted(interrupted.signal_number, false);
    }
    return cells.size();
}

std::vector<clients::EvaluationResult> ChunkWork::evaluate(const ServerState& server, std::uint64_t num_test) {
    Task task;
    task.kind = TaskKind::Evaluate;
    task.round = told_round(server.round);
    task.global_index = server.global_index;
    const std::size_t num_chunks = run(task, num_test, options_.test_chunk);
    std::vector<clients::EvaluationResult> results;
    for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) {
        const clients::TaskCell& cell = board_.chunk(chunk);
        deadlines_.learn_chunk(seconds_between(cell.started_ns.load(std::memory_order_relaxed), cell.finished_ns));
        results.push_back(cell.evaluation);
    }
    return results;
}

aggregation::Aggregator& ChunkWork::share(aggregation::Aggregator& rule, std::uint64_t bytes, std::int64_t round) {
    const bool possible = arena_.geometry().num_aggregates > 0 && rule.column_rule() != aggregation::ColumnRule::None;
    if (!possible || bytes < kSharedBytes) return rule;
    shared_ = std::make_unique<SharedAggregator>(
        rule, arena_,
        [this, round](aggregation::ColumnRule column_rule, const auto& updates) { aggregate(column_rule, updates, round); });
    return *shared_;
}

void ChunkWork::aggregate(aggregation::ColumnRule rule, std::span<const aggregation::Update> updates, std::int64_t round) {
    const std::span<clients::Term> terms = board_.terms();
    FEDHIVE_CHECK(updates.size() <= terms.size(), "{} updates, room for {}", updates.size(), terms.size());
    for (std::size_t k = 0; k < updates.size(); ++k) {
        const aggregation::Update& update = updates[k];
        terms[k] = {arena_.slot_index(update.values), update.position, update.scale, update.weight, update.clients};
    }
    Task task;
    task.kind = TaskKind::Aggregate;
    task.round = told_round(round);
    task.rule = rule;
    task.num_terms = static_cast<std::uint32_t>(updates.size());
    run(task, arena_.geometry().num_floats, kRangeFloats);
}

}  // namespace fedhive::sim
