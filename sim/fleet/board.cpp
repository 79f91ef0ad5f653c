#include "sim/fleet/board.h"

#include <numeric>

namespace fedhive::sim {

clients::ControlGeometry board_geometry(const FleetOptions& options, std::uint64_t num_chunks,
                                        const aggregation::ArenaGeometry& arena, const clients::SumsPlan& sums) {
    const Mode& mode = options.mode;
    const std::uint64_t slots = options.slots.num_slots(mode);
    const std::uint64_t slot_tasks = mode.tasks.size() * slots;
    clients::ControlGeometry geometry;
    geometry.num_workers = std::max(1U, options.workers);
    geometry.max_tasks = static_cast<std::uint32_t>(slot_tasks + num_chunks);
    geometry.max_terms = static_cast<std::uint32_t>(arena.num_aggregates * arena.num_slots);
    if (options.cross_losses) {
        geometry.max_terms = std::max(geometry.max_terms, static_cast<std::uint32_t>(slots));
        geometry.num_losses = slots * slots;
    }
    if (options.groups_updates) geometry.max_groups = std::uint64_t{geometry.max_terms} * (geometry.max_terms + 1);
    geometry.num_evaluated = std::max<std::uint64_t>(options.evaluated_clients.size(), options.most_measured);
    geometry.num_sums = sums.size();
    geometry.num_client_sums = sums.of_client().size();
    geometry.max_members = std::max<std::uint64_t>(slots, mode.in_flight);
    geometry.num_ranks = static_cast<std::uint32_t>(mode.group == WorkerGroup::None ? 0 : slot_tasks);
    return geometry;
}

std::vector<std::size_t> Board::cells_of(std::size_t slot) const {
    if (!is_here(slot)) return {};
    std::vector<std::size_t> cells(tasks_.size());
    std::iota(cells.begin(), cells.end(), first_cell(slot));
    return cells;
}

void Board::put(std::size_t slot, clients::Task task, DueKey due) {
    if (!is_here(slot)) return;
    for (std::size_t part = 0; part < tasks_.size(); ++part) {
        task.kind = tasks_[part];
        barrier_.put(first_cell(slot) + part, task, due.value());
    }
}

void Board::renew_ranks(std::span<const std::size_t> slots) {
    if (!ranked_) return;
    for (const std::size_t slot : slots)
        for (clients::RankCell& cell : block_.ranks().subspan(first_cell(slot), tasks_.size())) cell.reset();
}

bool Board::is_done(std::size_t slot) const {
    return is_here(slot) ? num_done(cells_of(slot)) == tasks_.size() : elsewhere_[slot].finished_ns.has_value();
}

std::size_t Board::num_done(std::span<const std::size_t> cells) const {
    return static_cast<std::size_t>(
        std::count_if(cells.begin(), cells.end(), [this](std::size_t cell) { return barrier_.done(cell); }));
}

}  // namespace fedhive::sim
