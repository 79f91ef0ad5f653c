#include "sim/fleet/wait.h"

#include <optional>

namespace fedhive::sim {

void Wait::until(const std::function<Awaited()>& awaited, double grace_s) {
    std::size_t done_before = 0;
    std::optional<std::uint32_t> began_at;  // finished tasks other than this wait's; some of these may be done before it begins
    for (;;) {
        const Awaited wait_for = awaited();
        if (!began_at) began_at = finished() - static_cast<std::uint32_t>(board_.num_done(wait_for.cells));
        const std::uint32_t began = *began_at;
        finished_before_ = began - static_cast<std::uint32_t>(wait_for.before);
        awaited_ = static_cast<std::uint32_t>(wait_for.before + wait_for.quorum);
        const std::vector<clients::FoundFailure> found = workforce_.wait(wait_for.cells, wait_for.quorum, grace_s);
        if (found.empty()) {
            if (wait_for.quorum > 0) policy_.work_goes_on();
            return;
        }
        const std::size_t done = board_.num_done(wait_for.cells);
        if (done > done_before) policy_.work_goes_on();
        done_before = done;
        recovery_.resolve(found);
    }
}

void Wait::until_let_go(std::span<const std::size_t> cells) {
    while (!cells.empty()) {
        const std::vector<clients::FoundFailure> found = workforce_.barrier().wait_until_let_go(cells);
        recovery_.resolve(found);
        if (found.empty()) return;
    }
}

std::pair<std::size_t, std::size_t> Wait::tasks_done() const { return {finished() - finished_before_.load(), awaited_.load()}; }

}  // namespace fedhive::sim
