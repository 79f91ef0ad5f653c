#include "sim/sweep/measurements.h"

#include "sim/config/load_config.h"
#include "sim/sweep/packer.h"

#include <algorithm>

namespace fedhive::sim {

namespace {

std::uint64_t with_reserve(std::uint64_t bytes) { return bytes + bytes / 10; }

}  // namespace

std::string memory_key(RunConfig config) {
    const RunConfig same;
    config.name = same.name;
    config.seed = same.seed;
    config.seeds = same.seeds;
    config.rounds = same.rounds;
    config.workers = same.workers;
    for (const char* takes_nothing : {"lr", "weight_decay"}) config.training.optimizer.values.erase(takes_nothing);
    config.training.lr_schedule = same.training.lr_schedule;
    return to_yaml(config);
}

void Measurements::note_host(const std::string& key, std::int64_t workers, std::uint64_t bytes) {
    Host& known = host_[key];
    if (bytes > known.bytes) known = {workers, bytes};
}

void Measurements::note_device(const std::string& key, std::uint64_t bytes) {
    std::uint64_t& known = device_[key];
    known = std::max(known, bytes);
}

std::uint64_t Measurements::host_bytes(const std::string& key, std::int64_t workers, std::uint64_t estimate) const {
    const auto known = host_.find(key);
    if (known == host_.end()) return estimate;
    return with_reserve(scaled_bytes(known->second.bytes, known->second.workers, workers));
}

std::optional<std::uint64_t> Measurements::device_bytes(const std::string& key) const {
    if (device_.empty()) return std::nullopt;
    const auto known = device_.find(key);
    if (known != device_.end()) return with_reserve(known->second);
    return with_reserve(std::max_element(device_.begin(), device_.end(), [](const auto& a, const auto& b) {
                            return a.second < b.second;
                        })->second);
}

}  // namespace fedhive::sim
