#include "sim/run_folder.h"

#include "aggregation/base/error.h"
#include "sim/model_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <ctime>
#include <vector>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRoundColumns =
    "round,version,cohort,accepted,failed,train_loss,test_loss,test_accuracy,bytes_down,bytes_up,staleness_mean,wall_s,"
    "pull_down_s,train_s,barrier_s,aggregate_s,server_step_s,evaluate_s\n";
constexpr const char* kClientColumns =
    "round,client_id,worker,slot,num_examples,steps,train_loss,update_norm,update_hash,seconds,failure\n";

std::string formatted_time(const char* format, bool utc) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    if (utc)
        gmtime_r(&now, &parts);
    else
        localtime_r(&now, &parts);
    std::array<char, 64> text{};
    return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

/// Only a folder with a manifest of ours is a run.
bool is_run(const fs::path& folder) {
    std::ifstream stream(folder / "manifest.json");
    const auto manifest = nlohmann::json::parse(stream, nullptr, false);
    return manifest.is_object() && manifest.contains("schema") && manifest.contains("model_sha256");
}

void remove_previous_run(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const char* name : {"config.yaml", "rounds.csv", "clients.csv", "events.jsonl", "model.safetensors", "manifest.json"})
        files.push_back(folder / name);
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder / "logs", none))
        if (entry.path().filename().string().rfind("worker-", 0) == 0) files.push_back(entry.path());
    for (const fs::path& file : files) {
        std::error_code error;
        fs::remove(file, error);
        if (error)
            throw ConfigError(
                fmt::format("--out {}: {} cannot be removed: {}", folder.string(), file.string(), error.message()));
    }
}

void prepare_folder(const fs::path& folder, bool overwrite) {
    std::error_code error;
    const bool is_folder = fs::is_directory(folder, error);
    if (!is_folder && fs::exists(folder, error)) throw ConfigError(fmt::format("--out {}: is not a folder", folder.string()));
    if (is_folder && !fs::is_empty(folder, error)) {
        if (!overwrite)
            throw ConfigError(
                fmt::format("--out {}: the folder is not empty; choose another, or add --overwrite to replace the run in it",
                            folder.string()));
        if (!is_run(folder))
            throw ConfigError(fmt::format(
                "--out {}: the folder is not empty and holds no run (no manifest.json of fedhive's), so --overwrite "
                "leaves it alone; choose another",
                folder.string()));
        remove_previous_run(folder);
    }
    fs::create_directories(folder / "logs", error);
    if (error || access(folder.c_str(), W_OK) != 0)
        throw ConfigError(
            fmt::format("--out {}: cannot be written: {}", folder.string(), error ? error.message() : std::strerror(errno)));
}

std::ofstream open_table(const fs::path& file, const char* columns) {
    std::ofstream stream(file, std::ios::app);
    stream << columns << std::flush;
    if (!stream) throw Fault("cannot write " + file.string());
    return stream;
}

void append(std::ofstream& stream, const std::string& text) {
    stream << text << std::flush;
    if (!stream) throw Fault("cannot write to the run's folder: is the disk full?");
}

}  // namespace

fs::path make_default_run_folder(const std::string& name) {
    const fs::path folder = fs::path("results") / "runs" / (name + "-" + formatted_time("%Y%m%d-%H%M%S", false));
    std::error_code error;
    fs::create_directories(folder.parent_path(), error);
    // Two runs may start within one second: whoever creates the folder has it.
    fs::path mine = folder;
    for (int i = 2; !error && !fs::create_directory(mine, error); ++i) mine = fmt::format("{}-{}", folder.string(), i);
    return mine;  // an error shows when the run prepares it
}

std::string utc_time() { return formatted_time("%Y-%m-%dT%H:%M:%SZ", true); }

RunFolder::RunFolder(const fs::path& folder, const RunConfig& config, bool overwrite) : folder_(folder) {
    prepare_folder(folder, overwrite);
    write_file(folder_ / "config.yaml", to_yaml(config));
    rounds_ = open_table(folder_ / "rounds.csv", kRoundColumns);
    clients_ = open_table(folder_ / "clients.csv", kClientColumns);
    events_ = open_table(folder_ / "events.jsonl", "");
}

void RunFolder::add_round(const RoundRecord& round, const Arrivals& arrived, const ServerState& server,
                          std::uint64_t model_bytes) {
    std::string rows;
    for (const ClientReport& client : arrived.clients)
        rows += fmt::format("{},{},{},{},{},{},{},{},{:016x},{:.6f},\n", round.round, client.client_id, client.worker,
                            client.slot, client.num_examples, client.result.steps, client.result.train_loss,
                            client.result.update_norm, client.result.update_hash, client.result.seconds);
    append(clients_, rows);
    const std::size_t accepted = arrived.clients.size();
    const std::string test = round.test ? fmt::format("{},{}", round.test->test_loss, round.test->test_accuracy) : ",";
    std::string row = fmt::format("{},{},{},{},{},{},{},{},{},{},{:.6f}", round.round, server.version, accepted, accepted, 0,
                                  arrived.train_loss(), test, accepted * model_bytes, accepted * model_bytes, 0,
                                  seconds_between(round.start_ns, round.lap_ns));
    for (const double seconds : round.seconds) row += fmt::format(",{:.6f}", seconds);
    append(rounds_, row + "\n");
}

void RunFolder::add_event(const std::string& event, const nlohmann::json& details) {
    nlohmann::ordered_json line{{"time", utc_time()}, {"event", event}};
    line.update(details);
    append(events_, line.dump() + "\n");
}

void RunFolder::write_manifest(const nlohmann::ordered_json& manifest) const {
    write_file(folder_ / "manifest.json", manifest.dump(2) + "\n");
}

}  // namespace fedhive::sim
