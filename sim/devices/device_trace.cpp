#include "sim/devices/device_trace.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "aggregation/base/without_controls.h"
#include "sim/devices/devices_config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace fedhive::sim {

namespace {

namespace fs = std::filesystem;

/// The rows of a CSV file, one at a time.
class Rows {
public:
    Rows(const fs::path& file, std::vector<std::string> columns, std::uint64_t num_clients)
        : file_(file.string()), columns_(std::move(columns)), num_clients_(num_clients) {
        const std::string header = fmt::format("{}", fmt::join(columns_, ","));
        try {
            lines_.emplace(file);
        } catch (const FileError& error) {
            throw ConfigError(fmt::format("{}; expected a CSV file that begins with {}", error.what(), header));
        }
        if (!next_line()) fail(fmt::format("is empty; expected: {}", header));
        if (text_.starts_with("\xEF\xBB\xBF")) text_.erase(0, 3);
        if (text_ != header) fail(fmt::format("the header is {}; allowed: {}", found(text_), header));
    }

    /// False at the end of the file.
    bool next() {
        if (!next_line()) return false;
        if (text_.empty()) fail("is empty; remove the line");
        cells_.clear();
        std::string_view rest = text_;
        for (std::size_t comma = rest.find(','); comma != std::string_view::npos; comma = rest.find(',')) {
            cells_.push_back(rest.substr(0, comma));
            rest.remove_prefix(comma + 1);
        }
        cells_.push_back(rest);
        if (cells_.size() != columns_.size())
            fail(fmt::format("has {} cells; expected: {}, {}", cells_.size(), columns_.size(), fmt::join(columns_, ",")));
        return true;
    }

    std::size_t line() const { return line_; }

    std::string clients() const { return fmt::format("0 to {}", num_clients_ - 1); }

    std::size_t client() const {
        std::uint64_t value = 0;
        const std::string_view cell = cells_.front();
        const auto [stop, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
        if (error == std::errc::invalid_argument || stop != cell.data() + cell.size())
            fail(0, fmt::format("expected a client, found {}; allowed: {}", found(cell), clients()));
        if (error != std::errc() || value >= num_clients_)
            fail(0, fmt::format("client {} does not exist; allowed: {}", cell.substr(0, 30), clients()));
        return value;
    }

    double number(std::size_t column, double low, double high, std::string_view allowed) const {
        double value = 0.0;
        const std::string_view cell = cells_[column];
        const auto [stop, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
        if (error == std::errc::invalid_argument || stop != cell.data() + cell.size() ||
            (error == std::errc() && !std::isfinite(value)))
            fail(column, fmt::format("expected a finite number, found {}; allowed: {}", found(cell), allowed));
        if (error != std::errc() || value < low || value > high)
            fail(column, fmt::format("{} is out of range; allowed: {}", cell.substr(0, 30), allowed));
        return value;
    }

    [[noreturn]] void fail(std::size_t column, const std::string& problem) const {
        fail(fmt::format("{}: {}", columns_[column], problem));
    }

    /// At the end of the file: throws if a client lacks `wanted`.
    template <typename IsGiven>
    void expect_every_client(std::string_view wanted, IsGiven is_given) const {
        std::vector<std::size_t> missing;
        for (std::size_t client = 0; client < num_clients_; ++client)
            if (!is_given(client)) missing.push_back(client);
        if (missing.empty()) return;
        const std::string others = missing.size() > 1 ? fmt::format(" and {} more", missing.size() - 1) : "";
        fail(0, fmt::format("the file has no row for client {}{}; expected: {} for each client, {}", missing.front(), others,
                            wanted, clients()));
    }

private:
    bool next_line() {
        if (!lines_->next(text_)) return false;
        ++line_;
        if (text_.ends_with('\r')) text_.pop_back();
        return true;
    }

    static std::string found(std::string_view cell) {
        if (cell.empty()) return "nothing";
        return fmt::format("'{}'", without_controls(cell.substr(0, 60)));
    }

    [[noreturn]] void fail(const std::string& problem) const {
        throw ConfigError(fmt::format("{}:{}: {}", file_, std::max<std::size_t>(line_, 1), problem));
    }

    std::string file_;
    std::vector<std::string> columns_;
    std::uint64_t num_clients_;
    std::optional<LineReader> lines_;
    std::string text_;                     // the current line
    std::vector<std::string_view> cells_;  // of text_
    std::size_t line_ = 0;
};

}  // namespace

std::vector<DeviceSpeed> read_device_trace(const fs::path& file, std::uint64_t num_clients) {
    constexpr double kAboveZero = std::numeric_limits<double>::min();
    const std::string seconds = fmt::format("above 0, at most {}", kMostSecondsPerExample);
    const std::string rates = fmt::format("{} to {:g}", kLeastBytesPerSecond, kMostBytesPerSecond);
    Rows rows(file, {"client", "seconds_per_example", "upload", "download"}, num_clients);
    std::vector<DeviceSpeed> speeds(num_clients);
    std::vector<std::size_t> line_of(num_clients, 0);
    while (rows.next()) {
        const std::size_t client = rows.client();
        if (line_of[client] != 0)
            rows.fail(0, fmt::format("client {} is given twice, first on line {}; keep one", client, line_of[client]));
        line_of[client] = rows.line();
        speeds[client] = {.seconds_per_example = rows.number(1, kAboveZero, kMostSecondsPerExample, seconds),
                          .upload = rows.number(2, kLeastBytesPerSecond, kMostBytesPerSecond, rates),
                          .download = rows.number(3, kLeastBytesPerSecond, kMostBytesPerSecond, rates)};
    }
    rows.expect_every_client("one row", [&](std::size_t client) { return line_of[client] != 0; });
    return speeds;
}

std::vector<std::vector<Interval>> read_availability_trace(const fs::path& file, std::uint64_t num_clients) {
    constexpr double kMost = std::numeric_limits<double>::max();
    Rows rows(file, {"client", "start_s", "end_s"}, num_clients);
    std::vector<std::vector<Interval>> intervals(num_clients);
    while (rows.next()) {
        const std::size_t client = rows.client();
        std::vector<Interval>& own = intervals[client];
        const Interval interval{.start_s = rows.number(1, 0.0, kMost, "0 or more"),
                                .end_s = rows.number(2, 0.0, kMost, "0 or more")};
        if (interval.end_s <= interval.start_s)
            rows.fail(2, fmt::format("{} is not after start_s; allowed: above {}", interval.end_s, interval.start_s));
        if (!own.empty() && interval.start_s < own.back().end_s)
            rows.fail(1, fmt::format("{} is before the end of client {}'s last interval; allowed: {} or more", interval.start_s,
                                     client, own.back().end_s));
        own.push_back(interval);
    }
    rows.expect_every_client("one row or more", [&](std::size_t client) { return !intervals[client].empty(); });
    return intervals;
}

}  // namespace fedhive::sim
