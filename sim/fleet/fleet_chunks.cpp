// Work that has no client, cut into chunks that any worker may take: the evaluation over test examples, the aggregate over parameters.
#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "sim/fleet/fleet.h"

#include <algorithm>

namespace fedhive::sim {

using clients::Task;
using clients::TaskKind;

/// Puts a task a chunk on the board and waits for all of them.
void Fleet::run_chunks(Task task, std::uint64_t total, std::uint64_t chunk) {
    chunks_.clear();
    std::vector<std::size_t> cells;
    task.deadline_s = deadlines_.of_chunk();
    for (task.first = 0; task.first < total; task.first += chunk) {
        task.count = std::min(chunk, total - task.first);
        cells.push_back(first_chunk() + chunks_.size());
        chunks_.push_back(task);
        barrier_.put(cells.back(), task);
    }
    chunk_attempts_.assign(chunks_.size(), {});
    barrier_.ring();
    try {
        settle([&] { return Awaited{cells, cells.size()}; }, kGrace);
    } catch (const clients::Interrupted& interrupted) {
        throw clients::Interrupted(interrupted.signal_number, false);
    }
}

std::vector<clients::EvaluationResult> Fleet::evaluate(const ServerState& server) {
    Task task;
    task.kind = TaskKind::Evaluate;
    task.round = static_cast<std::uint32_t>(std::max<std::int64_t>(0, server.round));
    task.global_index = server.global_index;
    run_chunks(task, dataset_.map().num_test, options_.test_chunk);
    std::vector<clients::EvaluationResult> results;
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
        const clients::TaskCell& cell = block_.task(first_chunk() + chunk);
        deadlines_.learn_chunk(seconds_between(cell.started_ns.load(std::memory_order_relaxed), cell.finished_ns));
        results.push_back(cell.evaluation);
    }
    return results;
}

aggregation::Aggregator& Fleet::with_workers(aggregation::Aggregator& rule, const Arrivals& arrived) {
    const Mode& mode = options_.mode;
    const bool idle = active_.size() > 1 && withdrawn_.empty() && !mode.late_join && !mode.by_steps();
    const std::uint64_t bytes = arrived.updates.size() * arena_.geometry().stride_bytes();
    const bool possible = arena_.geometry().num_aggregates > 0 && rule.column_rule() != aggregation::ColumnRule::None;
    if (!idle || !possible || bytes < kSharedBytes) return rule;
    shared_ = std::make_unique<SharedAggregator>(
        rule, arena_, [this](aggregation::ColumnRule column_rule, const auto& updates) { aggregate(column_rule, updates); });
    return *shared_;
}

void Fleet::aggregate(aggregation::ColumnRule rule, std::span<const aggregation::Update> updates) {
    const std::span<clients::Term> terms = block_.terms();
    FEDHIVE_CHECK(updates.size() <= terms.size(), "{} updates, room for {}", updates.size(), terms.size());
    for (std::size_t k = 0; k < updates.size(); ++k) {
        const aggregation::Update& update = updates[k];
        terms[k] = {arena_.slot_index(update.values), update.position, update.scale, update.weight, update.clients};
    }
    Task task;
    task.kind = TaskKind::Aggregate;
    task.round = static_cast<std::uint32_t>(std::max<std::int64_t>(0, round_));
    task.rule = rule;
    task.num_terms = static_cast<std::uint32_t>(updates.size());
    run_chunks(task, arena_.geometry().num_floats, kRangeFloats);
}

}  // namespace fedhive::sim
