// Reader of a run's records, for replay and `arrivals`. Input: a byte for the reader, then arrivals.csv, or rounds.csv up to
// the first zero byte and clients.csv after it.
#include "aggregation/base/error.h"
#include "sim/record/run_record.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_folder.h"

#include <algorithm>

using namespace fedhive;

namespace {

void read_arrivals(const std::string& input) {
    static const fuzz::MemoryFile file;
    file.set(input);
    const auto rounds = sim::read_arrivals(file.path());
    fuzz::expect(std::none_of(rounds.begin(), rounds.end(), [](const auto& round) { return round.empty(); }),
                 "somebody arrives in every round");
}

void read_record(const std::string& input) {
    static const fuzz::MemoryFolder folder({"rounds.csv", "clients.csv"});
    const std::size_t zero = input.find('\0');
    folder.file("rounds.csv").set(input.substr(0, zero));
    folder.file("clients.csv").set(zero == std::string::npos ? "" : input.substr(zero + 1));
    const auto rounds = sim::read_record(folder.path());
    for (std::size_t round = 0; round < rounds.size(); ++round)
        for (const sim::RecordedClient& client : rounds[round].clients)
            fuzz::expect(client.sent_round >= 1 && client.sent_round <= static_cast<std::int64_t>(round + 1),
                         "sent before it arrives");
}

}  // namespace

FEDHIVE_FUZZ_TARGET(run_record)(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
    try {
        (data[0] & 1U) == 0 ? read_arrivals(input) : read_record(input);
    } catch (const ConfigError&) {
        return 0;
    }
    return 0;
}
