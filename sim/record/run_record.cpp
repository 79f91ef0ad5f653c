#include "sim/record/run_record.h"

#include "sim/record/table_reader.h"

#include <limits>
#include <map>
#include <utility>

namespace fedhive::sim {

std::vector<RecordedRound> read_record(const std::filesystem::path& folder, const std::vector<std::string>& reports) {
    std::vector<RecordedRound> rounds;
    for (TableReader table(folder / "rounds.csv"); table.next();) {
        if (table.number("round") != rounds.size() + 1)
            table.refuse(fmt::format("is not the row of round {}", rounds.size() + 1));
        rounds.push_back({table.number("version"), {}});
    }
    // A client is sent again only after it has arrived, so its rows are in the order of sending.
    std::map<std::pair<std::int64_t, std::uint32_t>, std::uint32_t> sent;
    for (TableReader table(folder / "clients.csv"); table.next();) {
        const std::uint64_t round = table.number("round");
        if (round == 0) table.refuse("rounds are counted from 1");
        if (round > rounds.size()) break;  // of a round that is still being written
        RecordedClient client;
        client.client_id = static_cast<std::uint32_t>(table.number("client_id"));
        client.failure = table.text("failure");
        client.sent_round = static_cast<std::int64_t>(table.number("sent_round"));
        if (client.sent_round < 1 || client.sent_round > static_cast<std::int64_t>(round))
            table.refuse(fmt::format("sent_round {} is not in 1 to {}", client.sent_round, round));
        client.repeat = sent[{client.sent_round, client.client_id}]++;
        if (client.failure.empty()) {
            client.update_hash = table.number("update_hash", 16);
            for (const std::string& report : reports) client.reports.push_back(table.real(report));
        }
        rounds[round - 1].clients.push_back(client);
    }
    return rounds;
}

std::vector<std::vector<std::uint32_t>> read_arrivals(const std::filesystem::path& file) {
    std::vector<std::vector<std::uint32_t>> rounds;
    for (TableReader table(file); table.next();) {
        const std::uint64_t round = table.number("round");
        if (round == 0 || round > rounds.size() + 1 || round < rounds.size())
            table.refuse(fmt::format("round {} follows round {}; allowed: rounds from 1, in order", round, rounds.size()));
        if (round > rounds.size()) rounds.emplace_back();
        const std::uint64_t client = table.number("client_id");
        if (client > std::numeric_limits<std::uint32_t>::max()) table.refuse(fmt::format("client {} does not exist", client));
        rounds.back().push_back(static_cast<std::uint32_t>(client));
    }
    return rounds;
}

}  // namespace fedhive::sim
