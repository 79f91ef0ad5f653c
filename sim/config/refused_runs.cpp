#include "sim/config/refused_runs.h"

#include "sim/config/mistakes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

namespace fedhive::sim {

namespace {

constexpr std::size_t kMostNamed = 10;

}  // namespace

void RefusedRuns::add(const std::string& run, const std::string& text) {
    runs_.push_back(run);
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        if (!runs_of_.contains(line)) lines_.push_back(line);
        runs_of_[line].push_back(run);
    }
}

std::string RefusedRuns::text(std::size_t all) const {
    Mistakes mistakes;
    for (const std::string& line : lines_) {
        const std::vector<std::string>& runs = runs_of_.at(line);
        const std::string others = runs.size() == 1 ? "" : fmt::format(" and {} more", runs.size() - 1);
        mistakes.add(fmt::format("{} (in run '{}'{})", line, runs.front(), others));
    }
    if (runs_.size() == 1) return mistakes.text();
    const std::vector<std::string> named(runs_.begin(),
                                         runs_.begin() + static_cast<std::ptrdiff_t>(std::min(runs_.size(), kMostNamed)));
    const std::string more = runs_.size() > kMostNamed ? fmt::format(" and {} more", runs_.size() - kMostNamed) : "";
    return fmt::format("{}\nrefused: {} of {} runs, so none begins: {}{}", mistakes.text(), runs_.size(), all,
                       fmt::join(named, ", "), more);
}

}  // namespace fedhive::sim
