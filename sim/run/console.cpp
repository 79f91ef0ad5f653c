#include "sim/run/console.h"

#include "sim/fleet/fleet.h"
#include "sim/round/server_state.h"
#include "sim/screen/round_lines.h"

#include <algorithm>
#include <limits>

namespace fedhive::sim {

Console::LiveLine Console::start_rounds(std::int64_t done, std::int64_t rounds, const Fleet& fleet) {
    rounds_ = rounds;
    first_ = done;
    rounds_done_ = done;
    start_ns_ = now_ns();
    fleet_ = &fleet;
    table_width_ = terminal_.live() ? terminal_.width() : std::numeric_limits<std::size_t>::max();
    say(round_head(table_width_, title_));
    if (terminal_.live() && alone_ && !quiet_) {
        live_ = true;
        redrawer_ = std::thread([this] { redraw_loop(); });
    }
    return LiveLine(*this);
}

void Console::show_round(const RoundRecord& round, const Arrivals& arrived, const ServerState& server) {
    const std::lock_guard lock(mutex_);
    rounds_done_ = round.round;
    if (round.test) quality_ = round.test->main();
    if (quiet_) return;
    RoundRow row;
    row.round = round.round;
    row.version = server.version;
    row.cohort = arrived.clients.size();
    row.accepted = arrived.accepted();
    row.train_loss = arrived.train_loss();
    if (round.test) row.test_loss = round.test->test_loss;
    if (round.test) row.quality = round.test->main();
    row.wall_s = seconds_between(round.start_ns, round.lap_ns);
    terminal_.say(round_line(row, table_width_));
    if (live_) draw_live_line();
}

void Console::stop_rounds() {
    {
        const std::lock_guard lock(mutex_);
        terminal_.erase();
        live_ = false;
    }
    changed_.notify_all();
    if (redrawer_.joinable()) redrawer_.join();
}

void Console::say(const std::string& text, Tone tone) {
    if (quiet_) return;
    const std::lock_guard lock(mutex_);
    terminal_.say(paint(tone, text, terminal_.colour()));
}

void Console::redraw_loop() {
    std::unique_lock lock(mutex_);
    while (live_) {
        draw_live_line();
        changed_.wait_for(lock, std::chrono::milliseconds(200));
    }
}

void Console::draw_live_line() {
    const auto [finished, all] = fleet_->tasks_done();
    const auto [busy, workers] = fleet_->workers_busy();
    const double part = all == 0 ? 0.0 : static_cast<double>(std::min(finished, all)) / static_cast<double>(all);
    // A round hands out tasks twice, for training and for evaluation; the bar must not go back.
    shown_ = std::max(shown_, static_cast<double>(rounds_done_) + (rounds_done_ < rounds_ ? part : 0.0));
    RunProgress progress;
    progress.round = std::min(rounds_done_ + 1, rounds_);
    progress.rounds = rounds_;
    progress.done = shown_;
    progress.elapsed_s = seconds_between(start_ns_, now_ns());
    // The rate counts whole rounds of this process; unknown before the first.
    if (rounds_done_ > first_) {
        const double left = static_cast<double>(rounds_) - shown_;
        progress.rounds_per_s = static_cast<double>(rounds_done_ - first_) / progress.elapsed_s;
        progress.eta_s = progress.elapsed_s * left / std::max(shown_ - static_cast<double>(first_), 1e-9);
    }
    progress.busy = busy;
    progress.workers = workers;
    progress.quality = quality_;
    progress.metric = title_;
    terminal_.draw({progress_line(progress, terminal_.width())});
}

}  // namespace fedhive::sim
