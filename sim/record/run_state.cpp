#include "sim/record/run_state.h"

#include <fmt/format.h>

#include <charconv>

namespace fedhive::sim {

std::optional<RunState> state_in_sweep(std::string_view status) {
    const std::optional<RunState> state = from_word<RunState>(status);
    return state && *state <= RunState::Failed ? state : std::nullopt;
}

std::optional<RunState> state_told(const std::string& exit_status) {
    for (const RunState state : {RunState::Running, RunState::Finished})
        if (exit_status == word_of(state)) return state;
    for (const RunState state : {RunState::Paused, RunState::Interrupted, RunState::Failed})
        if (exit_status.starts_with(word_of(state))) return state;
    return std::nullopt;
}

std::string paused_after(std::int64_t round) { return fmt::format("{} after round {}", word_of(RunState::Paused), round); }

std::int64_t round_paused_after(const std::string& exit_status) {
    const std::string before = word_of(RunState::Paused) + " after round ";
    std::int64_t round = 0;
    if (exit_status.starts_with(before))
        std::from_chars(exit_status.data() + before.size(), exit_status.data() + exit_status.size(), round);
    return round;
}

}  // namespace fedhive::sim
