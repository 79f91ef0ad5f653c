// What a run shows: the plan, one aligned row per round, on a terminal also a live line with rate and ETA. Piped, plain lines; quiet, nothing.
#pragma once

#include "sim/experiment.h"
#include "sim/round_record.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace fedhive::sim {

class Console {
public:
    explicit Console(bool quiet);
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    void show_plan(const Experiment& run, const std::string& folder) const;

    /// Ends the live line when it goes out of scope: what the line is fed from must live longer.
    class LiveLine {
    public:
        explicit LiveLine(Console& console) : console_(console) {}
        ~LiveLine() { console_.stop_rounds(); }
        LiveLine(const LiveLine&) = delete;
        LiveLine& operator=(const LiveLine&) = delete;

    private:
        Console& console_;
    };

    /// On a terminal: starts the live line of a run that has `done` of its `rounds` behind it. `tasks_done` gives finished and all tasks of
    /// the current hand-out; called from another thread.
    [[nodiscard]] LiveLine start_rounds(std::int64_t done, std::int64_t rounds,
                                        std::function<std::pair<std::size_t, std::size_t>()> tasks_done);
    void show_round(const RoundRecord& round, const Arrivals& arrived, const ServerState& server);
    void say(const std::string& line);

private:
    void stop_rounds();
    void redraw_loop();
    void draw_live_line();
    void erase_live_line() const;

    bool quiet_;
    bool terminal_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool live_ = false;
    std::int64_t rounds_ = 0;
    std::int64_t first_ = 0;  // rounds done before this process
    std::int64_t rounds_done_ = 0;
    double shown_ = 0.0;  // rounds, the one at work in part
    std::int64_t start_ns_ = 0;
    std::string last_metrics_;
    std::function<std::pair<std::size_t, std::size_t>()> tasks_done_;
    std::thread redrawer_;
};

}  // namespace fedhive::sim
