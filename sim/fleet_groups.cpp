// Failures of workers that work together (replicas, the halves of a split model): nobody of a group can finish without the one that is
// lost, so all of them are called back and begin again.
#include "aggregation/base/error.h"
#include "sim/fleet.h"

#include <algorithm>

namespace fedhive::sim {

using clients::ClientFailure;
using clients::FailureKind;
using clients::FoundFailure;

/// Calls back everybody of the group and leaves in `found` one failure of it: what really went wrong. The others only waited in vain.
void Fleet::recall_group(std::size_t slot, std::vector<FoundFailure>& found) {
    const std::vector<std::size_t> cells = group_cells(slot);
    const auto in_group = [&](const FoundFailure& one) {
        return one.cell && std::find(cells.begin(), cells.end(), *one.cell) != cells.end();
    };
    std::vector<std::uint32_t> workers(cells.size());
    std::transform(cells.begin(), cells.end(), workers.begin(), [this](std::size_t cell) { return barrier_.worker_of(cell); });
    barrier_.withdraw(cells);
    for (;;) {
        const std::vector<FoundFailure> more = barrier_.wait_until_let_go(cells);
        found.insert(found.end(), more.begin(), more.end());
        if (more.empty()) break;
    }
    std::vector<FoundFailure> of_group;
    std::copy_if(found.begin(), found.end(), std::back_inserter(of_group), in_group);
    found.erase(std::remove_if(found.begin(), found.end(), in_group), found.end());
    const auto cause =
        std::find_if(of_group.begin(), of_group.end(), [](const FoundFailure& one) { return !one.missing_rank; });
    FoundFailure culprit = cause != of_group.end() ? *cause : of_group.front();
    for (const FoundFailure& one : of_group)
        if (one.worker_lost && one.failure.worker != culprit.failure.worker) replace_worker(one);
    if (culprit.missing_rank && *culprit.missing_rank < cells.size()) {
        // Nobody has died or thrown: the one that did not come is at fault, and not to be relied on.
        culprit.cell = cells[*culprit.missing_rank];
        culprit.failure.worker = workers[*culprit.missing_rank];
        culprit.failure.client_id = flights_[slot_of(*culprit.cell)]->clients.front().client_id;
        barrier_.retire(static_cast<std::size_t>(culprit.failure.worker));
        culprit.worker_lost = true;
    }
    found.insert(found.begin(), culprit);
}

std::vector<std::size_t> Fleet::group_cells(std::size_t slot) const {
    if (!options_.mode.one_group()) return cells_of(slot);
    std::vector<std::size_t> all;
    for (std::size_t other = 0; other < flights_.size(); ++other)
        if (flights_[other]) all.push_back(cell_of(other));
    return all;
}

/// All of a group make the next attempt together, whoever of them the last one failed for.
void Fleet::others_try_again(std::size_t slot) {
    for (std::size_t other = 0; other < flights_.size(); ++other) {
        if (other == slot || !flights_[other]) continue;
        ++flights_[other]->clients.front().attempts.attempt;
        take_part(other, 0);
    }
}

/// Puts a slot's task on the board, with those of the slots whose workers need it, in a group as new.
void Fleet::put_group(std::size_t slot) {
    if (options_.mode.group_size() == 1) return put(slot);
    const auto ranks = block_.ranks();
    if (!options_.mode.one_group()) {
        for (clients::RankCell& cell : ranks.subspan(2 * slot, 2)) cell.reset();
        return put(slot);
    }
    for (clients::RankCell& cell : ranks) cell.reset();
    for (const std::size_t cell : group_cells(slot)) put(slot_of(cell));
}

}  // namespace fedhive::sim
