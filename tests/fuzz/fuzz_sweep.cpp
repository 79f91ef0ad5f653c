// Reader of sweeps. Input: the file after its line with the base, up to the first zero byte; then the base, or
// nothing for a valid one.
#include "aggregation/base/error.h"
#include "sim/config/sweep_config.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

#include <algorithm>
#include <set>

using namespace fedhive;

namespace {

constexpr const char* kBase =
    "data: {format: synthetic, num_train: 100, num_test: 10, num_features: 4, partition: {scheme: iid, clients: 10}}\n"
    "model: {name: lr}\n";

void check_id(const std::string& id) {
    constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-,=";
    fuzz::expect(!id.empty() && id.size() <= 100 && id.find_first_not_of(kAllowed) == std::string::npos,
                 "an id that can name a folder");
    fuzz::expect(id.front() != '.', "an id that is no hidden folder");
}

}  // namespace

FEDHIVE_FUZZ_TARGET(sweep)(const std::uint8_t* data, std::size_t size) {
    static const fuzz::MemoryFile base;
    static const fuzz::MemoryFile file;
    const std::string input(reinterpret_cast<const char*>(data), size);
    const std::size_t zero = input.find('\0');
    base.set(zero == std::string::npos ? kBase : input.substr(zero + 1));
    file.set("base: " + base.path().string() + "\n" + input.substr(0, zero));
    sim::SweepConfig sweep;
    try {
        sweep = sim::load_sweep(file.path());
    } catch (const ConfigError&) {
        return 0;
    }
    fuzz::expect(!sweep.runs.empty(), "a run at least");
    std::set<std::string> ids;
    for (const sim::SweepRun& run : sweep.runs) {
        check_id(run.id);
        fuzz::expect(ids.insert(run.id).second, "ids that differ");
        fuzz::expect(run.settings.size() == sweep.keys.size(), "a setting for each key");
    }
    const std::string text = sim::to_yaml(sweep.runs.front().config);
    fuzz::expect(sim::to_yaml(sim::from_yaml(text, "what to_yaml wrote")) == text, "a run's config, read again, is the same");
    return 0;
}
