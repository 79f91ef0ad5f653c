// Who has which examples, as a file says: a partition that another program made.
#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "clients/data/partitions/dealing.h"

#include <charconv>
#include <utility>

namespace fedhive::clients {

namespace {

constexpr const char* kHeader = "client,example";

/// A row's two numbers; throws ConfigError with `where`.
std::pair<std::uint64_t, std::uint64_t> numbers_of(const std::string& line, const std::string& where) {
    std::pair<std::uint64_t, std::uint64_t> row;
    const char* end = line.data() + line.size();
    const auto client = std::from_chars(line.data(), end, row.first);
    if (client.ec == std::errc() && client.ptr != end && *client.ptr == ',') {
        const auto example = std::from_chars(client.ptr + 1, end, row.second);
        if (example.ec == std::errc() && example.ptr == end) return row;
    }
    throw ConfigError(fmt::format("{}: is no row; allowed: {}, two whole numbers from 0", where, kHeader));
}

Partition read_partition(const Deal& deal, const Values& values) {
    check_sizes(deal.examples, deal.clients);
    const std::string file = values.path("file").string();
    LineReader lines(values.path("file"));
    std::string line;
    const auto next = [&] {
        const bool there = lines.next(line);
        if (there && line.ends_with('\r')) line.pop_back();
        return there;
    };
    if (!next() || line != kHeader)
        throw ConfigError(fmt::format("{}:1: wanted: a CSV file that begins with {}", file, kHeader));
    std::vector<bool> dealt(deal.examples);
    std::vector<std::vector<std::uint32_t>> shards(deal.clients);
    for (std::size_t number = 2; next(); ++number) {
        const std::string where = fmt::format("{}:{}", file, number);
        const auto [client, example] = numbers_of(line, where);
        if (client >= deal.clients)
            throw ConfigError(
                fmt::format("{}: client: there is no client {}; allowed: 0 to {}", where, client, deal.clients - 1));
        if (example >= dealt.size())
            throw ConfigError(
                fmt::format("{}: example: there is no example {}; allowed: 0 to {}", where, example, dealt.size() - 1));
        if (dealt[example])
            throw ConfigError(fmt::format("{}: example: {} is dealt twice; allowed: once at most", where, example));
        dealt[example] = true;
        shards[client].push_back(static_cast<std::uint32_t>(example));
    }
    return joined(shards);
}

}  // namespace

PartitionScheme from_file() {
    return {.name = "from_file",
            .summary = "as a file says",
            .keys = {{.name = "file",
                      .default_value = std::filesystem::path(),
                      .required = true,
                      .doc = "A CSV file: the line `client,example`, then a row for each example that is used, clients and "
                             "examples from 0, in "
                             "any order; relative to the config file."}},
            .deal = read_partition};
}

}  // namespace fedhive::clients
