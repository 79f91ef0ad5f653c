#include "sim/screen/sweep_screen.h"

#include "sim/screen/screen_text.h"

#include <fmt/format.h>

namespace fedhive::sim {

void SweepScreen::show() {
    sweep_.refresh();
    if (terminal_.live())
        terminal_.draw(sweep_lines(sweep_, terminal_.width(), terminal_.height(), terminal_.colour()));
    else
        say_changes();
}

void SweepScreen::say_changes() {
    for (const SweepEntry& run : sweep_.runs()) {
        std::optional<RunState>& before = statuses_[run.id];
        if (before == run.status) continue;
        if (run.status != RunState::Waiting || before) terminal_.say(run.id + "  " + outcome(run));
        before = run.status;
    }
}

void SweepScreen::show_end() {
    sweep_.refresh();
    terminal_.keep();
    terminal_.say(paint(sweep_.state() == RunState::Finished ? Tone::Good : Tone::Bad, end(), terminal_.colour()));
}

std::string SweepScreen::end() const {
    const std::string folder = sweep_.folder().string();
    const std::string stopped =
        sweep_.count(RunState::Stopped) > 0 ? fmt::format(", {} stopped early", sweep_.count(RunState::Stopped)) : "";
    const std::string runs = fmt::format("{} of {} runs{}", sweep_.count(RunState::Finished), sweep_.runs().size(), stopped);
    if (sweep_.state() == RunState::Finished)
        return fmt::format("finished: {} in {}; results in {}/summary.csv and summary.md; pictures: fedhive report {}", runs,
                           clock_time(sweep_.elapsed_s()), folder, folder);
    if (sweep_.damaged())
        return fmt::format(
            "{}; restore the file that the sweep wrote, or start again in another folder; the runs are in {}/runs",
            sweep_.exit_status(), folder);
    const bool killed = sweep_.state() == RunState::Killed;
    const std::string what = killed ? "its process was killed" : sweep_.exit_status();
    const std::string tables = killed ? "" : fmt::format("; so far: {}/summary.csv and summary.md", folder);
    const std::string wrong = sweep_.count(RunState::Failed) > 0 ? fmt::format("; the errors are in {}/logs", folder) : "";
    return fmt::format("{}; finished: {}; {} of {} rounds are done{}{}; go on with: fedhive sweep --resume {}", what, runs,
                       sweep_.rounds_done(), sweep_.rounds_planned(), tables, wrong, folder);
}

}  // namespace fedhive::sim
