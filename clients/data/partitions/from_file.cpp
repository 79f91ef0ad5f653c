// A partition read from a CSV file of (client, example) rows.
#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "clients/data/partitions/dealing.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace fedhive::clients {

namespace {

constexpr const char* kHeader = "client,example";

/// A cell without surrounding blanks and quotes.
std::string_view bare(std::string_view cell) {
    const auto trim = [&] {
        while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
        while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.remove_suffix(1);
    };
    trim();
    if (cell.size() < 2 || cell.front() != '"' || cell.back() != '"') return cell;
    return cell.substr(1, cell.size() - 2);
}

/// The two cells of a line with exactly one comma; nothing otherwise.
std::optional<std::pair<std::string_view, std::string_view>> two_cells(std::string_view line) {
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos || line.find(',', comma + 1) != std::string_view::npos) return {};
    return std::pair(bare(line.substr(0, comma)), bare(line.substr(comma + 1)));
}

/// The file's nonempty lines, without byte-order mark and line ends.
class Rows {
public:
    explicit Rows(const std::filesystem::path& file) : file_(file.string()), lines_(file) {}

    bool next() {
        do {
            if (!lines_.next(line_)) return false;
            if (++number_ == 1 && line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);
            if (line_.ends_with('\r')) line_.pop_back();
        } while (line_.empty());
        return true;
    }

    bool is_header() const { return two_cells(line_) == std::pair<std::string_view, std::string_view>("client", "example"); }

    /// Client and example of the current row.
    std::pair<std::uint64_t, std::uint64_t> numbers() const {
        std::pair<std::uint64_t, std::uint64_t> row;
        const auto is_number = [](std::string_view cell, std::uint64_t& number) {
            const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
            return error == std::errc() && end == cell.data() + cell.size();
        };
        const auto cells = two_cells(line_);
        if (!cells || !is_number(cells->first, row.first) || !is_number(cells->second, row.second))
            throw ConfigError(fmt::format("{}: is not a valid row; expected: {}, two integers from 0", where(), kHeader));
        return row;
    }

    /// "FILE:LINE"
    std::string where() const { return fmt::format("{}:{}", file_, number_); }

private:
    std::string file_;
    LineReader lines_;
    std::string line_;
    std::size_t number_ = 0;
};

Partition read_partition(const Deal& deal, const Values& values) {
    check_sizes(deal.examples, std::max<std::size_t>(1, deal.clients));
    Rows rows(values.path("file"));
    if (!rows.next() || !rows.is_header())
        throw ConfigError(fmt::format("{}:1: expected a CSV file that begins with {}", values.path("file").string(), kHeader));
    std::vector<bool> dealt(deal.examples);
    std::vector<std::vector<std::uint32_t>> shards(deal.clients);
    const bool counted = deal.clients == 0;
    const std::size_t most_clients = counted ? deal.examples : deal.clients;
    while (rows.next()) {
        const auto [client, example] = rows.numbers();
        if (client >= most_clients)
            throw ConfigError(fmt::format(
                "{}: client: client {} does not exist; allowed: 0 to {}{}", rows.where(), client, most_clients - 1,
                counted ? ", because each client has an example" : "; or remove clients to use all clients of the file"));
        if (client >= shards.size()) shards.resize(client + 1);
        if (example >= dealt.size())
            throw ConfigError(fmt::format("{}: example: example {} does not exist; allowed: 0 to {}", rows.where(), example,
                                          dealt.size() - 1));
        if (dealt[example])
            throw ConfigError(fmt::format("{}: example: example {} is given twice; keep one", rows.where(), example));
        dealt[example] = true;
        shards[client].push_back(static_cast<std::uint32_t>(example));
    }
    for (std::size_t client = 0; counted && client < shards.size(); ++client)
        if (shards[client].empty())
            throw ConfigError(fmt::format("{}: has no row for client {}; expected: clients 0 to {}, each with an example",
                                          values.path("file").string(), client, shards.size() - 1));
    if (shards.empty()) throw ConfigError(fmt::format("{}: has no rows below {}", values.path("file").string(), kHeader));
    return joined(shards);
}

}  // namespace

PartitionScheme from_file() {
    return {.name = "from_file",
            .summary = "as given in a file",
            .keys = {{.name = "file",
                      .default_value = std::filesystem::path(),
                      .required = true,
                      .doc = "A CSV file: the header `client,example`, then one row for each used example, with clients and "
                             "examples numbered from 0, in any order; relative to the config file."}},
            .names_clients = true,
            .by_number = true,
            .deal = read_partition};
}

}  // namespace fedhive::clients
