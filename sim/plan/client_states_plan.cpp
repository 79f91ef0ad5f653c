#include "sim/plan/client_states_plan.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/unnamed_file.h"
#include "sim/machine/machine.h"
#include "sim/plan/blame.h"
#include "sim/plan/memory_users.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace fedhive::sim {

namespace {

/// The most clients that can take part in all rounds together.
std::uint64_t clients_seen(const RunConfig& run, std::uint64_t num_clients) {
    return std::min(num_clients, static_cast<std::uint64_t>(run.rounds) * static_cast<std::uint64_t>(run.cohort_size()));
}

}  // namespace

std::uint64_t client_state_bytes(const RunConfig& run, const aggregation::Memories& memories, std::uint64_t num_clients) {
    const std::uint64_t floats = memories.record_floats();
    return floats == 0 ? 0 : clients_seen(run, num_clients) * aggregation::ClientStates::bytes_each(floats);
}

std::filesystem::path existing_folder(const std::filesystem::path& folder) {
    if (folder.empty()) return folder;
    std::error_code error;
    std::filesystem::path found = std::filesystem::absolute(folder, error).lexically_normal();
    while (!std::filesystem::is_directory(found, error) && found.has_relative_path()) found = found.parent_path();
    return found;
}

namespace {

/// Those whose memories are in clients' records: "strategy 'scaffold' and model.local"; the key to change; "choose another strategy
/// or give model.local fewer patterns".
struct KeepsState {
    const char* key = "";
    std::string who, instead;
    std::size_t count = 0;
};

KeepsState who_keeps(const RunConfig& run) {
    KeepsState all;
    for (const MemoryUser& user : memory_users(run)) {
        if (std::ranges::none_of(user.memories, [](const aggregation::MemorySpec& memory) {
                return memory.owner == aggregation::MemoryOwner::Client;
            }))
            continue;
        all.key = user.key;
        all.who += fmt::format("{}{}", all.count == 0 ? "" : " and ", user.who);
        all.instead += fmt::format("{}{}", all.count == 0 ? "" : " or ", user.instead);
        ++all.count;
    }
    return all;
}

/// "strategy 'scaffold' stores 400 bytes (400 B) for each client that takes part, 4000 bytes (4 KB) for up to 10 clients"
std::string what_is_kept(const RunConfig& run, std::uint64_t each, std::uint64_t seen) {
    const KeepsState keeps = who_keeps(run);
    return fmt::format("{} {} {} bytes ({}) for each client that takes part, {} bytes ({}) for up to {} clients", keeps.who,
                       keeps.count == 1 ? "stores" : "store", each, human_bytes(each), seen * each, human_bytes(seen * each),
                       seen);
}

aggregation::ClientStates make_states_in(const std::filesystem::path& folder, const LoadedConfig& loaded, std::uint64_t floats,
                                         std::uint64_t num_clients) {
    const std::uint64_t each = aggregation::ClientStates::bytes_each(floats), seen = clients_seen(loaded.run, num_clients);
    if (aggregation::lies_in_memory(folder))
        throw loaded.source->error("client_state",
                                   fmt::format("{} is in main memory itself (tmpfs), and so would be a file there; set memory, "
                                               "or put the run's folder on a disk with --out",
                                               folder.string()));
    if (const std::uint64_t free = aggregation::free_disk_bytes(folder); seen > free / each)
        throw loaded.source->error(
            "client_state", fmt::format("{}; on the disk of {} {} bytes ({}) are free; free space there, put the run's folder "
                                        "on another disk (--out), use fewer clients or rounds or a smaller model, or {}",
                                        what_is_kept(loaded.run, each, seen), folder.string(), free, human_bytes(free),
                                        who_keeps(loaded.run).instead));
    return blame(loaded, "client_state", [&] {
        try {
            return aggregation::ClientStates::create_in(folder, num_clients, floats);
        } catch (const Fault& fault) {
            throw ConfigError(fmt::format("{}; set memory, or put the run's folder elsewhere with --out", fault.what()));
        }
    });
}

}  // namespace

aggregation::ClientStates make_client_states(const LoadedConfig& loaded, const aggregation::Memories& memories,
                                             std::uint64_t num_clients, const Ranks& ranks,
                                             const std::filesystem::path& folder) {
    const std::uint64_t floats = memories.record_floats();
    if (floats == 0) return {};
    if (loaded.run.client_state == StateStore::File && !folder.empty())
        return make_states_in(existing_folder(folder), loaded, floats, num_clients);
    const std::uint64_t each = aggregation::ClientStates::bytes_each(floats), seen = clients_seen(loaded.run, num_clients);
    const std::uint64_t available = this_machine().available_memory;
    if (loaded.run.client_state == StateStore::Memory && seen > available / (ranks.is_alone() ? 1 : 2) / each)
        throw loaded.source->error(
            who_keeps(loaded.run).key,
            fmt::format("{}{}; {} bytes ({}) of memory are available; use fewer clients or rounds or a smaller model, {}, or "
                        "store it on the disk of the run's folder with client_state: file",
                        what_is_kept(loaded.run, each, seen),
                        ranks.is_alone() ? "" : ", and twice that while ranks resume a run", available, human_bytes(available),
                        who_keeps(loaded.run).instead));
    return aggregation::ClientStates::create(num_clients, floats);
}

}  // namespace fedhive::sim
