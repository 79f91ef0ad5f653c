// A run's terminal output: messages, one aligned row per round, on a terminal also a live line. Piped: plain lines; quiet:
// nothing.
#pragma once

#include "sim/round/round_record.h"
#include "sim/screen/screen_text.h"
#include "sim/screen/terminal.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace fedhive::sim {

class Fleet;
struct ServerState;

class Console {
public:
    /// title: name of the metric shown with each round. alone: no starter (mpirun) forwards the output; with one, no live line.
    explicit Console(std::string title, bool quiet, bool alone = true)
        : title_(std::move(title)), quiet_(quiet), alone_(alone) {}
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    /// Ends the live line when it goes out of scope. The fleet must outlive it.
    class LiveLine {
    public:
        explicit LiveLine(Console& console) : console_(console) {}
        ~LiveLine() { console_.stop_rounds(); }
        LiveLine(const LiveLine&) = delete;
        LiveLine& operator=(const LiveLine&) = delete;

    private:
        Console& console_;
    };

    /// Shows the table's head and, on a terminal, starts the live line of a run that has finished `done` of its `rounds`.
    /// Another thread redraws it and asks the fleet for its progress.
    [[nodiscard]] LiveLine start_rounds(std::int64_t done, std::int64_t rounds, const Fleet& fleet);
    void show_round(const RoundRecord& round, const Arrivals& arrived, const ServerState& server);
    void say(const std::string& text, Tone tone = Tone::Plain);

private:
    void stop_rounds();
    void redraw_loop();
    void draw_live_line();

    std::string title_;
    bool quiet_;
    bool alone_;
    Terminal terminal_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool live_ = false;
    std::size_t table_width_ = 0;
    std::int64_t rounds_ = 0;
    std::int64_t first_ = 0;  // rounds done before this process
    std::int64_t rounds_done_ = 0;
    double shown_ = 0.0;  // rounds shown, the current one in part
    std::int64_t start_ns_ = 0;
    std::optional<double> quality_;  // that metric at the last evaluation
    const Fleet* fleet_ = nullptr;   // while the live line exists
    std::thread redrawer_;
};

}  // namespace fedhive::sim
