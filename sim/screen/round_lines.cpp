#include "sim/screen/round_lines.h"

#include "sim/screen/screen_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace fedhive::sim {

namespace {

constexpr std::size_t kAllColumns = 69;
constexpr std::size_t kSmallestBar = 6;
constexpr std::size_t kLargestBar = 30;

std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.4f}", *value) : "-"; }

std::string row_of(std::size_t width, std::string_view round, std::string_view version, std::string_view accepted,
                   std::string_view train_loss, std::string_view test_loss, std::string_view quality,
                   std::string_view seconds) {
    if (width < kAllColumns) return fmt::format("{:>6} {:>9} {:>10} {:>9}", round, accepted, quality, seconds);
    return fmt::format("{:>6} {:>8} {:>9} {:>11} {:>10} {:>10} {:>9}", round, version, accepted, train_loss, test_loss, quality,
                       seconds);
}

/// A part of the line. comes: 0: always shown; else parts are added in ascending order while they fit.
struct Part {
    std::string text;
    int comes = 0;
};
constexpr int kBar = 3;

/// The parts that fit, in their order.
std::vector<Part> parts_that_fit(std::vector<Part> parts, std::size_t width) {
    std::vector<Part*> by_rank;
    by_rank.reserve(parts.size());
    for (Part& part : parts) by_rank.push_back(&part);
    std::stable_sort(by_rank.begin(), by_rank.end(), [](const Part* a, const Part* b) { return a->comes < b->comes; });
    std::size_t used = 0;
    for (Part* part : by_rank) {
        if (part->comes > 0 && used + columns(part->text) > width) part->text.clear();
        used += columns(part->text);
    }
    std::erase_if(parts, [](const Part& part) { return part.text.empty(); });
    return parts;
}

std::string workers_text(const RunProgress& progress) {
    const char* plural = progress.workers == 1 ? "" : "s";
    return progress.busy ? fmt::format("{}/{} worker{}", *progress.busy, progress.workers, plural)
                         : fmt::format("{} worker{}", progress.workers, plural);
}

}  // namespace

std::string round_head(std::size_t width, const std::string& metric) {
    return row_of(width, "round", "version", "accepted", "train loss", "test loss", metric, "seconds");
}

std::string round_line(const RoundRow& row, std::size_t width) {
    return row_of(width, fmt::format("{}", row.round), fmt::format("{}", row.version),
                  fmt::format("{}/{}", row.accepted, row.cohort), number(row.train_loss), number(row.test_loss),
                  number(row.quality), fmt::format("{:.3f}", row.wall_s));
}

std::string progress_line(const RunProgress& progress, std::size_t width) {
    const bool known = progress.rounds > 0;
    const double fraction = known ? std::min(1.0, progress.done / static_cast<double>(progress.rounds)) : 0.0;
    std::vector<Part> parts;
    parts.push_back(
        {known ? fmt::format("round {}/{}", progress.round, progress.rounds) : fmt::format("round {}", progress.round)});
    if (known) {
        parts.push_back({fmt::format(" {}", bar(fraction, kSmallestBar)), kBar});
        parts.push_back({fmt::format(" {:3.0f} %", fraction * 100.0)});
    }
    parts.push_back({fmt::format(" · {}", clock_time(progress.elapsed_s)), 4});
    if (progress.rounds_per_s) parts.push_back({fmt::format(" · {}", rate_text(*progress.rounds_per_s)), 6});
    if (progress.eta_s) parts.push_back({fmt::format(" · ETA {}", clock_time(*progress.eta_s)), 1});
    if (progress.workers > 0) parts.push_back({fmt::format(" · {}", workers_text(progress)), 5});
    if (progress.quality) parts.push_back({fmt::format(" · {} {:.4f}", progress.metric, *progress.quality), 2});
    parts = parts_that_fit(std::move(parts), width);
    std::size_t left_over = width;
    for (const Part& part : parts) left_over -= std::min(left_over, columns(part.text));
    std::string line;
    for (const Part& part : parts)
        line +=
            part.comes == kBar ? fmt::format(" {}", bar(fraction, std::min(kLargestBar, kSmallestBar + left_over))) : part.text;
    return cut(line, width);
}

std::string rate_text(double rounds_per_s) {
    return rounds_per_s < 0.1 ? fmt::format("{:.1f} s/round", 1.0 / rounds_per_s)
                              : fmt::format("{:.2f} rounds/s", rounds_per_s);
}

}  // namespace fedhive::sim
