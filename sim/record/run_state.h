// The state of a run or of a sweep, as manifest.json and sweep.json tell it (docs: results/README.md), and as it is shown.
#pragma once

#include "aggregation/base/words.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fedhive::sim {

enum class RunState {
    Waiting,  // of a sweep's run: it has to start or to go on
    Running,
    Paused,    // as planned, after a round; of a sweep's run: at a rung
    Finished,  // all its rounds, or a stop target reached
    Stopped,   // of a sweep's run: by early stopping
    Failed,
    Interrupted,  // by a signal
    Killed,       // told to be running, but no process holds its lock; no file says so
    Absent        // no files yet, or a word that no fedhive writes
};
constexpr auto all_words(RunState) {
    return std::array{"waiting", "running", "paused", "finished", "stopped", "failed", "interrupted", "killed", "unknown"};
}

/// The `status` of a run in sweep.json: waiting, running, paused, finished, stopped or failed. Empty for another word.
std::optional<RunState> state_in_sweep(std::string_view status);

/// The state that an `exit_status` tells: "running", "finished", "paused after round 9", "interrupted by SIGINT",
/// "failed: no memory". Empty for another text.
std::optional<RunState> state_told(const std::string& exit_status);

/// "paused after round 9".
std::string paused_after(std::int64_t round);
/// The round of paused_after(); 0 for another text.
std::int64_t round_paused_after(const std::string& exit_status);

}  // namespace fedhive::sim
