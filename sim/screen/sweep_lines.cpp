// The table of a sweep: lines that fit a screen, made from a view.
#include "sim/screen/screen_text.h"
#include "sim/screen/sweep_view.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

constexpr std::size_t kRoomy = 16;  // with this many lines or more, empty lines separate the parts
constexpr std::size_t kShortestId = 14;
constexpr std::size_t kLongestId = 60;
constexpr std::size_t kFailuresKept = 3;  // shown even if many runs have ended since

struct Column {
    std::string head;
    std::size_t width = 0;
    std::string (*text)(const SweepEntry& run);
    int goes = 0;  // if there is no room, the largest goes first
};

std::string optional_text(const std::optional<double>& value, std::string (*text)(double)) {
    return value ? text(*value) : "-";
}
std::string quality_text(double quality) { return fmt::format("{:.4f}", quality); }

std::string round_text(const SweepEntry& run) { return fmt::format("{}/{}", run.round, run.rounds); }

constexpr const char* kQuality = "";  // the column's head is the title of the runs' metric

const std::vector<Column>& all_columns() {
    static const std::vector<Column> columns{
        {"round", 9, round_text, 0},
        {kQuality, 9, [](const SweepEntry& run) { return optional_text(run.quality, quality_text); }, 1},
        {"rate", 15, [](const SweepEntry& run) { return optional_text(run.rounds_per_s, rate_text); }, 4},
        {"ETA", 8,
         [](const SweepEntry& run) {
             return run.status == RunState::Killed ? word_of(run.status) : optional_text(run.eta_s, clock_time);
         },
         2},
        {"workers", 8, [](const SweepEntry& run) { return fmt::format("{}", run.workers); }, 3}};
    return columns;
}

std::size_t width_of(const std::vector<Column>& columns) {
    std::size_t width = 0;
    for (const Column& column : columns) width += column.width;
    return width;
}

/// The columns that leave room for the runs' names.
std::vector<Column> columns_for(std::size_t width, std::size_t longest_id) {
    std::vector<Column> columns = all_columns();
    while (columns.size() > 1 && width_of(columns) + std::min(longest_id, kShortestId) > width)
        columns.erase(
            std::max_element(columns.begin(), columns.end(), [](const Column& a, const Column& b) { return a.goes < b.goes; }));
    return columns;
}

using Runs = std::vector<const SweepEntry*>;

std::size_t id_width(const Runs& runs, std::size_t most) {
    std::size_t longest = 3;
    for (const SweepEntry* run : runs) longest = std::max(longest, columns(run->id));
    return std::min({longest, most, kLongestId});
}

Runs runs_where(const SweepView& sweep, bool (SweepEntry::*holds)() const) {
    Runs found;
    for (const SweepEntry& run : sweep.runs())
        if ((run.*holds)()) found.push_back(&run);
    return found;
}

bool ended_later(const SweepEntry* a, const SweepEntry* b) { return a->ended_s > b->ended_s; }

/// The latest ended runs, latest first, always with the latest failures.
Runs last_of(Runs ended, std::size_t room) {
    std::stable_sort(ended.begin(), ended.end(), ended_later);
    if (ended.size() <= room) return ended;
    Runs kept;
    for (const SweepEntry* run : ended)
        if (run->status == RunState::Failed && kept.size() < std::min(kFailuresKept, room / 2)) kept.push_back(run);
    for (const SweepEntry* run : ended)
        if (kept.size() < room && std::find(kept.begin(), kept.end(), run) == kept.end()) kept.push_back(run);
    std::stable_sort(kept.begin(), kept.end(), ended_later);
    return kept;
}

/// "12/40 finished · 1 failed · 3 running", with as many counts as fit.
std::string counts_text(const SweepView& sweep, std::size_t width, bool colour) {
    const std::size_t finished = sweep.count(RunState::Finished);
    const std::string of_all = fmt::format("{}/{} finished", finished, sweep.runs().size());
    std::string text = paint(finished == sweep.runs().size() ? Tone::Good : Tone::Plain, of_all, colour);
    for (const RunState status :
         {RunState::Failed, RunState::Killed, RunState::Running, RunState::Waiting, RunState::Paused, RunState::Stopped}) {
        const std::size_t count = sweep.count(status);
        const std::string part = fmt::format("{} {}", count, word_of(status));
        if (count == 0 || columns(text) + 3 + part.size() > width) continue;
        const bool bad = status == RunState::Failed || status == RunState::Killed;
        text += " · " + paint(bad ? Tone::Bad : Tone::Plain, part, colour);
    }
    return text;
}

std::string title_line(const SweepView& sweep, std::size_t width, bool colour) {
    const std::size_t shortest_name = std::min(columns(sweep.name()), width / 4);
    const std::string counts = counts_text(sweep, width - std::min(width, shortest_name + 3), colour);
    const std::size_t room = std::max(shortest_name, width - std::min(width, columns(counts) + 3));
    return cut(cut(sweep.name(), room) + " · " + counts, width);
}

std::string time_line(const SweepView& sweep, std::size_t width) {
    std::string text = fmt::format(" {:3.0f} % · {}", sweep.fraction() * 100.0, clock_time(sweep.elapsed_s()));
    if (const auto eta = sweep.eta_s()) text += " · ETA " + clock_time(*eta);
    if (sweep.state() == RunState::Killed) text += " · its process was killed";
    if (sweep.state() == RunState::Interrupted || sweep.state() == RunState::Failed) text += " · " + sweep.exit_status();
    const std::size_t room = width - std::min(width, columns(text));
    return cut(bar(sweep.fraction(), std::clamp<std::size_t>(room, 6, 30)) + text, width);
}

std::string best_line(const SweepEntry& best, std::size_t width) {
    return cut(fmt::format("best {}  {}", quality_text(*best.quality), best.id), width);
}

std::string mark_of(const SweepEntry& run, bool colour) {
    if (run.status == RunState::Finished) return paint(Tone::Good, "✓", colour);
    return run.status == RunState::Failed ? paint(Tone::Bad, "✗", colour) : "–";
}

/// "✓ lr-0.1+seed-2  0.9712", "✗ lr-1+seed-2  worker 0 was killed"
std::string ended_line(const SweepEntry& run, std::size_t id_room, std::size_t width, bool colour) {
    std::string line = fmt::format("{} {}", mark_of(run, colour), left(run.id, id_room));
    if (run.quality && run.status != RunState::Failed) line += "  " + quality_text(*run.quality);
    if (!run.reason.empty()) line += "  " + run.reason;
    return cut(line, width);
}

std::vector<std::string> table_of(const Runs& runs, std::size_t width, bool colour) {
    std::size_t longest = 0;
    for (const SweepEntry* run : runs) longest = std::max(longest, columns(run->id));
    std::vector<Column> shown = columns_for(width, longest);
    for (Column& column : shown)
        if (column.head == kQuality) column.head = shown_metric(runs.front()->metric).title;
    const std::size_t id = id_width(runs, width - std::min(width, width_of(shown)));
    std::string head = left("run", id);
    for (const Column& column : shown) head += right(column.head, column.width);
    std::vector<std::string> lines{paint(Tone::Dim, head, colour)};
    for (const SweepEntry* run : runs) {
        std::string line = left(run->id, id);
        for (const Column& column : shown) line += right(column.text(*run), column.width);
        lines.push_back(paint(run->status == RunState::Killed ? Tone::Bad : Tone::Plain, line, colour));
    }
    return lines;
}

/// Adds as many lines as fit; the last one then says how many are left out.
void add(std::vector<std::string>& lines, std::vector<std::string> more, std::size_t room, std::size_t left_out = 0) {
    if (room == 0) return;
    if (more.size() > room || left_out > 0) {
        const std::size_t kept = std::min(more.size(), room - 1);
        const std::size_t rest = more.size() - kept + left_out;
        more.resize(kept);
        more.push_back(fmt::format("… and {} more", rest));
    }
    lines.insert(lines.end(), more.begin(), more.end());
}

}  // namespace

std::string outcome(const SweepEntry& run) {
    const std::string quality =
        run.quality ? fmt::format("  {} {}", shown_metric(run.metric).title, quality_text(*run.quality)) : "";
    const std::string reason = run.reason.empty() ? "" : "  " + run.reason;
    const std::string where = run.on_its_way() ? fmt::format(" after round {} of {}", run.round, run.rounds) : "";
    return word_of(run.status) + where + (run.status == RunState::Failed ? "" : quality) + reason;
}

std::vector<std::string> sweep_lines(const SweepView& sweep, std::size_t width, std::size_t height, bool colour) {
    std::vector<std::string> lines{title_line(sweep, width, colour), time_line(sweep, width)};
    if (const SweepEntry* best = sweep.best(); best != nullptr && height >= 6) lines.push_back(best_line(*best, width));
    const Runs at_work = runs_where(sweep, &SweepEntry::at_work);
    const Runs ended = runs_where(sweep, &SweepEntry::ended);
    const std::size_t gap = height >= kRoomy ? 1 : 0;
    const auto room = [&] { return height - std::min(height, lines.size()); };
    if (!at_work.empty() && room() > gap + 1) {
        if (gap > 0) lines.emplace_back();
        const std::size_t for_ended = std::min(ended.size() + gap, room() / 3);
        add(lines, table_of(at_work, width, colour), room() - for_ended);
    }
    if (!ended.empty() && room() > gap) {
        if (gap > 0) lines.emplace_back();
        const std::size_t shown = ended.size() <= room() ? ended.size() : std::max<std::size_t>(1, room() - 1);
        const Runs last = last_of(ended, shown);
        const std::size_t id = id_width(last, std::max<std::size_t>(kShortestId, width / 2 + 8));
        std::vector<std::string> rows;
        for (const SweepEntry* run : last) rows.push_back(ended_line(*run, id, width, colour));
        add(lines, rows, room(), room() > 1 ? ended.size() - last.size() : 0);
    }
    lines.resize(std::min(lines.size(), height));
    for (std::string& line : lines) line = cut(line, width);
    return lines;
}

}  // namespace fedhive::sim
