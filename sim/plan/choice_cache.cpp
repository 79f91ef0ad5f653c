#include "sim/plan/choice_cache.h"

#include "aggregation/base/error.h"
#include "aggregation/base/home_folder.h"
#include "aggregation/base/input_file.h"
#include "aggregation/base/sha256.h"
#include "sim/record/durable_file.h"

#include <nlohmann/json.hpp>

namespace fedhive::sim {

namespace fs = std::filesystem;

ChoiceCache::ChoiceCache(const std::string& key) {
    const fs::path folder = cache_folder();
    if (folder.empty()) return;
    Sha256 hash;
    hash.update(key.data(), key.size());
    file_ = folder / ("workers-" + hash.hex_digest().substr(0, 32) + ".json");
}

std::optional<WorkerChoice> ChoiceCache::read() const {
    const auto json = nlohmann::json::parse(read_file_or_nothing(file_), nullptr, false);
    if (!json.is_object() || !json.contains("workers") || !json["workers"].is_number_unsigned()) return std::nullopt;
    auto choice = choice_from(json, json["workers"].get<std::uint32_t>());
    if (!choice || choice->workers == 0 || choice->measured.empty()) return std::nullopt;
    choice->by = ChosenBy::Cache;
    choice->cost_s = 0.0;
    return choice;
}

void ChoiceCache::write(const WorkerChoice& choice) const {
    if (file_.empty()) return;
    std::error_code none;
    fs::create_directories(file_.parent_path(), none);
    nlohmann::json json = to_json(choice);
    json["workers"] = choice.workers;
    try {
        write_file(file_, json.dump(2) + "\n");
    } catch (const Fault&) {
        // No room or no permission: the next run measures again.
    }
}

}  // namespace fedhive::sim
