// A run's rounds as lines of text, for its own terminal and for `fedhive watch`: a table's head and rows, and the line that moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace fedhive::sim {

/// A row of rounds.csv, as far as somebody asks.
struct RoundRow {
    std::int64_t round = 0;
    std::uint64_t version = 0;
    std::uint64_t cohort = 0;
    std::uint64_t accepted = 0;
    std::uint64_t failed = 0;
    std::optional<double> train_loss;
    std::optional<double> test_loss;
    std::optional<double> quality;  // by the main metric of the run's task
    std::optional<double> other{};  // of the column that a RunView was asked for besides
    double wall_s = 0.0;
    std::optional<double> virtual_s;
    std::uint64_t bytes_down = 0;
    std::uint64_t bytes_up = 0;
};

/// Aligned columns; on a terminal too narrow for all of them, fewer. `width` in columns, the same for head and rows.
/// `metric`: its title.
std::string round_head(std::size_t width, const std::string& metric);
std::string round_line(const RoundRow& row, std::size_t width);

/// How far a run is, at one moment.
struct RunProgress {
    std::int64_t round = 0;   // at work, from 1; after the last one, that
    std::int64_t rounds = 0;  // planned; 0: not known
    double done = 0.0;        // rounds, the one at work in part
    double elapsed_s = 0.0;
    std::optional<double> rounds_per_s;
    std::optional<double> eta_s;
    std::optional<std::size_t> busy;  // workers that have a task
    std::size_t workers = 0;          // 0: the coordinator trains
    std::optional<double> quality;    // of the last evaluation, by …
    std::string metric{};             // … whose title
};

/// One line of at most `width` columns: round and percentage, and as far as there is room, in this order, ETA, metric, bar, elapsed time,
/// workers and rate.
std::string progress_line(const RunProgress& progress, std::size_t width);

/// "0.33 rounds/s", "41.2 s/round"
std::string rate_text(double rounds_per_s);

}  // namespace fedhive::sim
