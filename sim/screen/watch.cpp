#include "sim/screen/watch.h"

#include "aggregation/base/error.h"
#include "clients/protocol/watcher.h"
#include "sim/config/suggest.h"
#include "sim/record/run_lock.h"
#include "sim/screen/round_lines.h"
#include "sim/screen/screen_text.h"
#include "sim/screen/sweep_screen.h"
#include "sim/screen/terminal.h"

#include <csignal>
#include <ctime>
#include <functional>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

constexpr double kLookEvery = 0.25;  // s
constexpr double kPatience = 5.0;    // s, for the first files of a folder

/// True when the user wants to leave; interrupts are blocked and stay pending until this call.
bool interrupted_within(double seconds) {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
    const timespec time{0, static_cast<long>(seconds * 1e9)};
    return sigtimedwait(&signals, nullptr, &time) > 0;
}

/// Calls `look` repeatedly until it returns an exit code.
int follow(Terminal& terminal, const std::function<std::optional<int>()>& look) {
    for (;;) {
        if (const auto code = look()) return *code;
        if (terminal.gone()) return 0;
        if (!interrupted_within(kLookEvery)) continue;
        terminal.keep();
        terminal.say("stopped watching; the run continues");
        return 130;
    }
}

/// "finished after 10 of 10 rounds", and what to do next.
std::string end_of(const RunView& run) {
    const std::string rounds = fmt::format("{} of {} rounds", run.round(), run.rounds());
    const std::string go_on = run.diverged() ? "resuming it would fail in the same way; start a new run with other values"
                                             : "go on with: fedhive run --resume " + run.folder().string();
    const std::string quality =
        run.quality() ? fmt::format(", {} {:.4f}", shown_metric(run.metric()).title, *run.quality()) : "";
    if (run.state() == RunState::Finished)
        return fmt::format("finished after {}{}, {} of training", rounds, quality, clock_time(run.elapsed_s()));
    const std::string what = run.state() == RunState::Killed ? "its process was killed" : run.exit_status();
    // No round is left that could succeed.
    if (run.state() == RunState::Failed && !run.diverged() && run.rounds() > 0 && run.round() >= run.rounds())
        return fmt::format("{}, after {}", what, rounds);
    return run.state() == RunState::Paused ? fmt::format("{}; {}", what, go_on)
                                           : fmt::format("{}, after {}; {}", what, rounds, go_on);
}

Tone tone_of(RunState state) {
    if (state == RunState::Finished) return Tone::Good;
    return state == RunState::Paused || state == RunState::Interrupted ? Tone::Plain : Tone::Bad;
}

class RunWatch {
public:
    RunWatch(const fs::path& folder, Terminal& terminal)
        : run_(folder), terminal_(terminal), width_(terminal.live() ? terminal.width() : 1000) {}

    std::optional<int> look() {
        run_.refresh();
        if (!begun_) begin();
        if (run_.rows().size() < said_) {
            said_ = run_.rows().size();
            terminal_.say(fmt::format("resumed after round {}", run_.round()));
        }
        for (; said_ < run_.rows().size(); ++said_) terminal_.say(round_line(run_.rows()[said_], width_));
        if (run_.state() == RunState::Running) {
            terminal_.draw({progress_line(run_.progress(), terminal_.width())});
            return std::nullopt;
        }
        terminal_.erase();
        if (const auto torn = run_.torn_lines(); torn > 0)
            terminal_.say(fmt::format("left out {} torn line{} of rounds.csv", torn, torn == 1 ? "" : "s"));
        if (const std::string damage = run_.damage(); !damage.empty()) {
            const std::string mend = "; restore the file that the run wrote, or run again in another folder";
            terminal_.say(paint(Tone::Bad, "damaged: " + damage + mend, terminal_.colour()));
            return 1;
        }
        terminal_.say(paint(tone_of(run_.state()), end_of(run_), terminal_.colour()));
        return run_.state() == RunState::Finished ? 0 : 1;
    }

private:
    void begin() {
        begun_ = true;
        const std::string process = run_.pid() == 0 ? "" : fmt::format(" · process {}", run_.pid());
        terminal_.say(fmt::format("run         {}{}\nfolder      {}\n", run_.name(), process, run_.folder().string()));
        terminal_.say(round_head(width_, shown_metric(run_.metric()).title));
        // On a terminal, only as many rows as fit below the head; in a pipe all.
        const std::size_t room = terminal_.height() - std::min<std::size_t>(terminal_.height() - 1, 7);
        if (!terminal_.live() || run_.rows().size() <= room) return;
        said_ = run_.rows().size() - room;
        terminal_.say(paint(Tone::Dim, fmt::format("  … {} rounds before", said_), terminal_.colour()));
    }

    RunView run_;
    Terminal& terminal_;
    std::size_t width_;  // of the table at its start
    bool begun_ = false;
    std::size_t said_ = 0;  // number of rows shown
};

enum class Kind { Run, Sweep, Unknown };

Kind kind_of(const fs::path& folder) {
    std::error_code none;
    if (fs::exists(folder / "sweep.json", none)) return Kind::Sweep;
    for (const char* file : {"manifest.json", "config.yaml"})
        if (fs::exists(folder / file, none)) return Kind::Run;
    return Kind::Unknown;
}

/// True if the folder has no foreign files: a process may be about to write its first ones.
bool may_become_one(const fs::path& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) return false;
    return lock_holder(folder).pid != 0 || fs::is_empty(folder, error);
}

[[noreturn]] void refuse(const fs::path& folder) {
    std::error_code none;
    const std::string problem =
        fs::exists(folder, none) ? "is neither the folder of a run nor of a sweep" : "does not exist" + nearest_folder(folder);
    throw ConfigError(
        fmt::format("{}: {}; expected the folder of a run, with manifest.json or config.yaml, such as "
                    "results/runs/NAME-DATE-TIME, or of a sweep, with sweep.json",
                    folder.string(), problem));
}

}  // namespace

int watch_command(const fs::path& folder) {
    clients::block_interrupts();
    const double start = time_s();
    while (kind_of(folder) == Kind::Unknown) {
        const bool locked = lock_holder(folder).pid != 0;
        if (!may_become_one(folder) || (!locked && time_s() - start > kPatience)) refuse(folder);
        if (interrupted_within(kLookEvery)) return 130;
    }
    Terminal terminal;
    if (kind_of(folder) == Kind::Sweep) {
        SweepScreen screen(folder, terminal);
        return follow(terminal, [&]() -> std::optional<int> {
            screen.show();
            if (screen.sweep().state() == RunState::Running) return std::nullopt;
            screen.show_end();
            return screen.sweep().state() == RunState::Finished ? 0 : 1;
        });
    }
    RunWatch watch(folder, terminal);
    return follow(terminal, [&] { return watch.look(); });
}

}  // namespace fedhive::sim
