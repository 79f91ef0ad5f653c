// A run's rounds as lines of text, for the run's own terminal and for `fedhive watch`: table head, rows, and the live line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace fedhive::sim {

/// The used columns of a row of rounds.csv.
struct RoundRow {
    std::int64_t round = 0;
    std::uint64_t version = 0;
    std::uint64_t cohort = 0;
    std::uint64_t accepted = 0;
    std::uint64_t failed = 0;
    std::optional<double> train_loss;
    std::optional<double> test_loss;
    std::optional<double> quality;  // the main metric of the run's task
    std::optional<double> other{};  // the other column that a RunView was asked for
    double wall_s = 0.0;
    std::optional<double> virtual_s;
    std::uint64_t bytes_down = 0;
    std::uint64_t bytes_up = 0;
};

/// The table's head and a row, in aligned columns; fewer columns if `width` is too small for all. Use the same `width` (in
/// columns) for both. `metric`: the metric's title.
std::string round_head(std::size_t width, const std::string& metric);
std::string round_line(const RoundRow& row, std::size_t width);

/// A run's progress at one moment.
struct RunProgress {
    std::int64_t round = 0;   // the current one, from 1; after the last round, the last
    std::int64_t rounds = 0;  // planned; 0: unknown
    double done = 0.0;        // rounds, the current one in part
    double elapsed_s = 0.0;
    std::optional<double> rounds_per_s;
    std::optional<double> eta_s;
    std::optional<std::size_t> busy;  // workers that have a task
    std::size_t workers = 0;          // 0: the coordinator trains
    std::optional<double> quality;    // at the last evaluation, of the metric …
    std::string metric{};             // … with this title
};

/// One line of at most `width` columns: round and percentage, then as many as fit of, in this order: ETA, metric, bar, elapsed
/// time, workers, rate.
std::string progress_line(const RunProgress& progress, std::size_t width);

/// "0.33 rounds/s", "41.2 s/round"
std::string rate_text(double rounds_per_s);

}  // namespace fedhive::sim
