// Failures of workers that work together (replicas, the halves of a split model): nobody of a group can finish without the one that is
// lost, so all of them are called back and begin again.
#include "aggregation/base/error.h"
#include "sim/fleet/fleet.h"

#include <algorithm>

namespace fedhive::sim {

using clients::ClientFailure;
using clients::FailureKind;
using clients::FoundFailure;

/// Calls back everybody of the group in which `first` went wrong. Returns what really did; the others only waited in vain. What else is found
/// meanwhile joins `others`, and what they know of this group leaves them.
FoundFailure Fleet::recall_group(const FoundFailure& first, std::vector<FoundFailure>& others) {
    const std::size_t slot = slot_of(*first.cell);
    const std::vector<std::size_t> cells = group_cells(slot);
    const auto elsewhere = [&](const FoundFailure& one) {
        return !one.cell || std::find(cells.begin(), cells.end(), *one.cell) == cells.end();
    };
    barrier_.withdraw(cells);
    for (;;) {
        const std::vector<FoundFailure> more = barrier_.wait_until_let_go(cells);
        others.insert(others.end(), more.begin(), more.end());
        if (more.empty()) break;
    }
    std::vector<FoundFailure> of_group{first};
    const auto begin = std::stable_partition(others.begin(), others.end(), elsewhere);
    of_group.insert(of_group.end(), begin, others.end());
    others.erase(begin, others.end());
    const auto cause =
        std::find_if(of_group.begin(), of_group.end(), [](const FoundFailure& one) { return !one.missing_rank; });
    FoundFailure culprit = cause != of_group.end() ? *cause : of_group.front();
    for (const FoundFailure& one : of_group)
        if (one.worker_lost && one.failure.worker != culprit.failure.worker) replace_worker(one);
    if (culprit.missing_rank && *culprit.missing_rank < cells.size()) {
        // Nobody has died or thrown, and a hung one would have been killed by now: the one that was waited for is only too slow.
        culprit.cell = cells[*culprit.missing_rank];
        culprit.failure.kind = FailureKind::Late;
        culprit.failure.client_id = flights_[slot_of(*culprit.cell)]->clients.front().client_id;
    }
    return culprit;
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
