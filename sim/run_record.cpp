#include "sim/run_record.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace fedhive::sim {

namespace {

class TableReader {
public:
    explicit TableReader(std::filesystem::path file) : file_(std::move(file)), stream_(file_) {
        if (!stream_) throw ConfigError(file_.string() + ": cannot be read");
        next();
        names_ = cells_;
    }

    /// Goes to the next whole line; false where there is none.
    bool next() {
        std::string line;
        if (!std::getline(stream_, line) || stream_.eof()) return false;
        ++line_;
        cells_.clear();
        std::istringstream cells(line + ",");
        for (std::string cell; std::getline(cells, cell, ',');) cells_.push_back(cell);
        return true;
    }

    const std::string& text(const char* column) const {
        const auto name = std::find(names_.begin(), names_.end(), column);
        if (name == names_.end() || cells_.size() != names_.size()) refuse(fmt::format("no value of column '{}'", column));
        return cells_[static_cast<std::size_t>(name - names_.begin())];
    }

    std::uint64_t number(const char* column, int base = 10) const {
        const std::string& value = text(column);
        std::uint64_t result = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result, base);
        if (error != std::errc() || end != value.data() + value.size())
            refuse(fmt::format("{} '{}' is not a number", column, value));
        return result;
    }

    [[noreturn]] void refuse(const std::string& problem) const {
        throw ConfigError(fmt::format("{}:{}: {}", file_.string(), line_, problem));
    }

private:
    std::filesystem::path file_;
    std::ifstream stream_;
    std::vector<std::string> names_;
    std::vector<std::string> cells_;
    int line_ = 0;
};

}  // namespace

std::vector<RecordedRound> read_record(const std::filesystem::path& folder) {
    std::vector<RecordedRound> rounds;
    for (TableReader table(folder / "rounds.csv"); table.next();) {
        if (table.number("round") != rounds.size() + 1)
            table.refuse(fmt::format("is not the row of round {}", rounds.size() + 1));
        rounds.push_back({table.number("version"), {}});
    }
    for (TableReader table(folder / "clients.csv"); table.next();) {
        const std::uint64_t round = table.number("round");
        if (round == 0) table.refuse("rounds are counted from 1");
        if (round > rounds.size()) break;  // of a round that is being written
        RecordedClient client;
        client.client_id = static_cast<std::uint32_t>(table.number("client_id"));
        client.failure = table.text("failure");
        if (client.failure.empty()) client.update_hash = table.number("update_hash", 16);
        rounds[round - 1].clients.push_back(client);
    }
    return rounds;
}

}  // namespace fedhive::sim
