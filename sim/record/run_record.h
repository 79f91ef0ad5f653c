// Reads back what a run's tables record about its rounds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

/// The used columns of a row of clients.csv.
struct RecordedClient {
    std::uint32_t client_id = 0;
    std::uint64_t update_hash = 0;  // of an accepted client
    std::string failure;            // kind of failure, of a client that was dropped or left behind
    std::int64_t sent_round = 0;    // from 1 …
    std::uint32_t repeat = 0;       // … and how often it had been sent in that round before
    std::vector<double> reports{};  // of an accepted client, as read_record() was asked for them
};

struct RecordedRound {
    std::uint64_t version = 0;            // after the round
    std::vector<RecordedClient> clients;  // in the order of the table
};

/// The rounds of rounds.csv, from 1 on, without a torn last line, with these reports of clients.csv. Throws ConfigError naming the
/// file and the problem.
std::vector<RecordedRound> read_record(const std::filesystem::path& folder, const std::vector<std::string>& reports = {});

/// arrivals.csv: for each round, from 1 on, the client ids in the order of their arrival. Throws as read_record.
std::vector<std::vector<std::uint32_t>> read_arrivals(const std::filesystem::path& file);

}  // namespace fedhive::sim
