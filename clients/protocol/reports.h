// Reports: named numbers that a client's visit sends with its result. A run declares its list once; values are in ClientResult::reports in
// the list's order, and each is a column of clients.csv. Plain data: workers read the list in their plan.
//
// To add one: add its ReportSpec to the run's list (sim/plan/run_reports.h), and write its value in the worker at index_of(name).
#pragma once

#include "aggregation/base/error.h"
#include "clients/protocol/task.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fedhive::clients {

/// A report as its user declares it.
struct ReportSpec {
    std::string name;  // of the column
    std::string unit;
    std::string meaning;  // Markdown, as of a column (sim/record/table.h)
};

class Reports {
public:
    static constexpr std::size_t kMost = kMostReports;
    static constexpr std::size_t kLongestName = 32;

    /// Appends a report. Throws Fault for one too many, a name twice, or a name that is empty or longer than kLongestName.
    void add(std::string_view name) {
        FEDHIVE_CHECK(size_ < kMost, "a report '{}' beside {}, {} at most", name, size_, kMost);
        FEDHIVE_CHECK(!name.empty() && name.size() <= kLongestName, "a report's name '{}'", name);
        FEDHIVE_CHECK(!has(name), "two reports '{}'", name);
        std::copy(name.begin(), name.end(), names_[size_++].begin());
    }

    std::size_t size() const { return size_; }
    std::string_view name(std::size_t index) const {
        FEDHIVE_CHECK(index < size_, "report {} of {}", index, size_);
        const auto& characters = names_[index];
        const auto end = std::find(characters.begin(), characters.end(), '\0');
        return {characters.data(), static_cast<std::size_t>(end - characters.begin())};
    }
    bool has(std::string_view name) const { return place_of(name) < size_; }

    /// Index in ReportValues. Throws Fault if the list has no report of that name.
    std::size_t index_of(std::string_view name) const {
        const std::size_t place = place_of(name);
        FEDHIVE_CHECK(place < size_, "no report '{}'", name);
        return place;
    }
    double of(const ClientResult& result, std::string_view name) const { return result.reports[index_of(name)]; }

    /// The first report whose value is a NaN or an infinity; empty if there is none.
    std::string_view not_finite(const ClientResult& result) const {
        for (std::size_t i = 0; i < size_; ++i)
            if (!std::isfinite(result.reports[i])) return name(i);
        return {};
    }

    /// The bytes that reports add to what a client sends.
    std::uint64_t bytes() const { return size_ * sizeof(double); }

private:
    std::size_t place_of(std::string_view wanted) const {
        std::size_t place = 0;
        while (place < size_ && name(place) != wanted) ++place;
        return place;
    }

    std::array<std::array<char, kLongestName>, kMost> names_{};
    std::size_t size_ = 0;
};

}  // namespace fedhive::clients
