#include "sim/run/run_files.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "sim/config/load_config.h"
#include "sim/config/suggest.h"
#include "sim/run/fairness_table.h"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <optional>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

/// The manifest is last, so that an interrupted overwriting can continue.
std::vector<std::string> known_files() {
    std::vector<std::string> files{"config.yaml", "rounds.csv", "clients.csv", "arrivals.csv", "fairness.csv"};
    for (const clients::LearningTask& task : clients::task_catalog()) files.push_back(client_table_name(task.main_metric()));
    for (const std::string& file : method_files()) files.push_back(file);
    files.insert(files.end(),
                 {kRuleSource, "confusion.csv", "partition.csv", "events.jsonl", "model.safetensors", "manifest.json"});
    return files;
}

constexpr std::string_view kPart = ".part";
constexpr std::string_view kCheckpointPrefix = "round-";
constexpr std::string_view kCheckpointSuffix = ".safetensors";

std::vector<fs::path> entries_of(const fs::path& folder) {
    std::vector<fs::path> entries;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) entries.push_back(entry.path());
    return entries;
}

/// The round in a checkpoint's name; empty for any other file.
std::optional<std::int64_t> round_of(const fs::path& file) {
    const std::string full_name = file.filename().string();
    std::string_view name = full_name;
    if (!name.starts_with(kCheckpointPrefix) || !name.ends_with(kCheckpointSuffix)) return std::nullopt;
    name = name.substr(kCheckpointPrefix.size(), name.size() - kCheckpointPrefix.size() - kCheckpointSuffix.size());
    std::int64_t round = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), round);
    if (name.size() < 8 || error != std::errc() || end != name.data() + name.size()) return std::nullopt;
    return round;
}

bool is_part(const fs::path& file) { return file.native().ends_with(kPart); }

fs::path without_part(const fs::path& file) {
    return is_part(file) ? fs::path(file.native().substr(0, file.native().size() - kPart.size())) : file;
}

/// Files of a run, under their final or their temporary names.
std::vector<fs::path> files_of_a_run(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const fs::path& entry : entries_of(folder / "checkpoints"))
        if (round_of(without_part(entry))) files.push_back(entry);
    for (const fs::path& entry : entries_of(folder / "logs"))
        if (entry.filename().native().starts_with("worker-")) files.push_back(entry);
    for (const std::string& name : known_files())
        for (const fs::path& file : {folder / (name + std::string(kPart)), folder / name})
            if (fs::exists(file)) files.push_back(file);
    return files;
}

/// True for the beginning of a config as to_yaml() writes it, left by a killed process.
bool is_begun_config(const fs::path& file) {
    constexpr std::string_view kBeginning = "name: ";
    const std::string text = read_file_or_nothing(file);
    return text.starts_with(kBeginning) || kBeginning.starts_with(text);
}

/// True if a run may have left all entries before its config.yaml: the lock, an empty logs folder, the beginning of
/// config.yaml.part, the checkpoint of round 0. A symbolic link is never ours.
bool counts_as_empty(const fs::path& folder) {
    const auto written_first = [&](const fs::path& entry) {
        const std::string name = entry.filename().native();
        if (fs::is_symlink(entry)) return false;
        if (name == "logs") return fs::is_directory(entry) && fs::is_empty(entry);
        if (name == "checkpoints") {
            const auto checkpoints = entries_of(entry);
            return fs::is_directory(entry) && std::all_of(checkpoints.begin(), checkpoints.end(), [](const fs::path& file) {
                       return round_of(without_part(file)) == 0;
                   });
        }
        return name == RunLock::kName || (name == "config.yaml.part" && is_begun_config(entry));
    };
    const auto entries = entries_of(folder);
    return std::all_of(entries.begin(), entries.end(), written_first);
}

/// Our manifest, or, if a process was killed before it wrote one, a config.yaml as only a run writes it.
bool is_run(const fs::path& folder) {
    const auto manifest = nlohmann::json::parse(read_file_or_nothing(folder / "manifest.json"), nullptr, false);
    if (manifest.is_object() && manifest.contains("schema") && manifest.contains("model_sha256")) return true;
    try {
        return to_yaml(load_config(folder / "config.yaml").run) == read_file(folder / "config.yaml");
    } catch (const ConfigError&) {
        return false;
    }
}

void remove_files(const std::vector<fs::path>& files) {
    for (const fs::path& file : files)
        if (unlink(file.c_str()) != 0 && errno != ENOENT)
            throw ConfigError(fmt::format("{}: cannot be removed: {}", file.string(), std::strerror(errno)));
}

void check_new_folder(const fs::path& folder, bool overwrite) {
    std::error_code error;
    if (!fs::exists(folder, error)) return;
    if (!fs::is_directory(folder, error)) throw ConfigError(fmt::format("--out {}: is not a folder", folder.string()));
    if (counts_as_empty(folder)) return;
    const bool run = is_run(folder);
    if (!overwrite)
        throw ConfigError(fmt::format(
            "--out {}: the folder is not empty; choose another{}", folder.string(),
            run ? ", or add --overwrite to replace the run in it, or resume that run: fedhive run --resume " + folder.string()
                : ""));
    if (!run)
        throw ConfigError(
            fmt::format("--out {}: the folder is not empty and contains no run (no manifest.json of fedhive), so --overwrite "
                        "does not replace it; choose another",
                        folder.string()));
}

}  // namespace

fs::path make_default_run_folder(const std::string& name) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    localtime_r(&now, &parts);
    std::array<char, 32> date{};
    std::strftime(date.data(), date.size(), "%Y%m%d-%H%M%S", &parts);
    const fs::path folder = kRunsFolder / fmt::format("{}-{}", name, date.data());
    std::error_code error;
    fs::create_directories(folder.parent_path(), error);
    // Two runs may start within one second: the one that creates the folder gets it.
    fs::path mine = folder;
    for (int i = 2; !error && !fs::create_directory(mine, error); ++i) mine = fmt::format("{}-{}", folder.string(), i);
    return mine;  // an error is reported when the run claims the folder
}

RunLock claim_new_folder(const fs::path& folder, bool overwrite) {
    check_new_folder(folder, overwrite);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw ConfigError(fmt::format("--out {}: cannot be written: {}", folder.string(), error.message()));
    RunLock lock(folder);
    check_new_folder(folder, overwrite);  // again: another process may have held the lock until now
    remove_files(files_of_a_run(folder));
    return lock;
}

void check_is_run(const fs::path& folder) {
    if (fs::exists(folder / "config.yaml") && is_run(folder)) return;
    read_file_if_there(folder / "config.yaml");  // reports a file that cannot be read
    throw ConfigError(fmt::format("{}: is not the folder of a run{}; start one with: fedhive run CONFIG --out {}",
                                  folder.string(), fs::exists(folder) ? "" : nearest_folder(folder), folder.string()));
}

RunLock claim_run(const fs::path& folder) {
    check_is_run(folder);
    return RunLock(folder);
}

void put_folders_aside(const fs::path& folder) {
    for (const std::int64_t round : checkpoint_rounds(folder)) {
        const fs::path checkpoint = checkpoint_path(folder, round);
        if (!fs::is_directory(fs::symlink_status(checkpoint))) continue;
        const fs::path aside = checkpoint.string() + ".damaged";
        if (std::rename(checkpoint.c_str(), aside.c_str()) != 0) throw os_fault("cannot move away " + checkpoint.string());
    }
}

void remove_part_files(const fs::path& folder) {
    std::vector<fs::path> files = files_of_a_run(folder);
    std::erase_if(files, [](const fs::path& file) { return !is_part(file); });
    remove_files(files);
}

fs::path checkpoint_path(const fs::path& folder, std::int64_t round) {
    return folder / "checkpoints" / fmt::format("{}{:08}{}", kCheckpointPrefix, round, kCheckpointSuffix);
}

std::vector<std::int64_t> checkpoint_rounds(const fs::path& folder) {
    std::vector<std::int64_t> rounds;
    for (const fs::path& entry : entries_of(folder / "checkpoints"))
        if (const auto round = round_of(entry)) rounds.push_back(*round);
    std::sort(rounds.begin(), rounds.end());
    return rounds;
}

}  // namespace fedhive::sim
