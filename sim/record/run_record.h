// What a run's tables say of its rounds, read back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

/// A row of clients.csv, as far as somebody asks.
struct RecordedClient {
    std::uint32_t client_id = 0;
    std::uint64_t update_hash = 0;  // of an accepted client
    std::string failure;            // of one that was dropped or left behind: the kind
    std::int64_t sent_round = 0;    // from 1 …
    std::uint32_t repeat = 0;       // … and how often it had been sent in that round before
};

struct RecordedRound {
    std::uint64_t version = 0;            // after it
    std::vector<RecordedClient> clients;  // its cohort, in order
};

/// The rounds of rounds.csv, from 1 on; a torn last line counts as not there. Throws ConfigError naming the file and what is wrong with it.
std::vector<RecordedRound> read_record(const std::filesystem::path& folder);

/// arrivals.csv: per round, from 1 on, the ids of clients in the order in which their work arrived. Throws as read_record.
std::vector<std::vector<std::uint32_t>> read_arrivals(const std::filesystem::path& file);

}  // namespace fedhive::sim
