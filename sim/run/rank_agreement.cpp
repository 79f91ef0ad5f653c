#include "sim/run/rank_agreement.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/cuda_driver.h"
#include "sim/config/load_config.h"
#include "sim/ranks/bytes.h"
#include "sim/run/checkpointer.h"
#include "sim/state/model_file.h"
#include "sim/version.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace fedhive::sim {

namespace {

constexpr double kPatience = 600.0;  // s; each host reads or draws the data at its own speed

/// A fact to compare between ranks, and the advice if it differs.
struct Fact {
    std::string name;
    std::string value;
    std::string help;
};

std::vector<Fact> facts_of(const Experiment& run) {
    const BitsEnvironment bits = environment_of(run);
    const auto hex = [](std::uint64_t number) { return fmt::format("{:016x}", number); };
    return {
        {"fedhive", fmt::format("{} ({})", kVersion, kCommit), "start the same program on every host"},
        {"data fingerprint", hex(run.data.fingerprint), "put the same files at the same place on every host"},
        {"partition fingerprint", hex(run.data.partition_fingerprint), "put the same files at the same place on every host"},
        {"layout fingerprint", hex(run.model.layout.fingerprint()), "start the same program on every host"},
        {"LibTorch", bits.libtorch, "start the same program, with the same LibTorch, on every host"},
        {"CPU capability", bits.cpu_capability,
         "use hosts of one kind, or set ATEN_CPU_CAPABILITY to a capability that all of them have"},
        {"processor's maker", bits.cpu_vendor, "use hosts of one kind, because LibTorch's products differ"},
        {"engine", bits.engine, "set training.engine"},
        {"GPU", bits.gpu, "use hosts with GPUs and drivers of one kind"},
        {"round", std::to_string(run.server.state.round), "start all ranks with one mpirun"},
        {"model", model_sha256(run.model.layout, run.server.global_model()),
         "put the same file for model.init at the same place on every host"},
        {"frozen parameters", model_sha256(run.model.frozen, run.server.frozen_values()),
         "put the same file for model.init or model.file at the same place on every host"}};
}

/// True for the number of workers and the location of the data, which each host sets for itself.
bool may_differ(const ConfigChange& change) {
    return change.key == "workers" || (change.allowed && change.key.starts_with("data."));
}

/// A private temporary file of this process, for a reader that needs a path.
class OwnFile {
public:
    OwnFile() : descriptor_(memfd_create("fedhive-from-rank-0", MFD_CLOEXEC)) {
        if (descriptor_ < 0) throw Fault("no memory for the data from rank 0 (memfd_create)");
    }
    ~OwnFile() { close(descriptor_); }
    OwnFile(const OwnFile&) = delete;
    OwnFile& operator=(const OwnFile&) = delete;
    std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

    void append(std::string_view content) const {
        while (!content.empty()) {
            const ssize_t written = write(descriptor_, content.data(), content.size());
            if (written <= 0) throw Fault(fmt::format("no memory for {} bytes from rank 0", content.size()));
            content.remove_prefix(static_cast<std::size_t>(written));
        }
    }

private:
    int descriptor_;
};

std::string for_others(const Resumption& found) {
    BytesWriter bytes;
    bytes.put_text(found.finished);
    bytes.put(found.over);
    bytes.put(found.point.round);
    bytes.put_text(found.data_fingerprint);
    bytes.put_text(to_yaml(found.loaded.run));
    bytes.put(found.from.has_value());
    return bytes.take();
}

/// Sends a part of rank 0's file to all ranks; returns it.
std::string pass_on(Ranks& ranks, std::string_view part) {
    return ranks.all_gather(std::string(part), {.seconds = kPatience})[0];
}

/// Sends the file in parts, so that no process holds all of it in memory twice; an empty part ends it.
void send_file(Ranks& ranks, const OpenState& file) {
    pass_on(ranks, file.head());
    file.read_data([&](std::string_view part) { pass_on(ranks, part); });
    pass_on(ranks, "");
}

void receive_file(Ranks& ranks, const OwnFile& to) {
    for (std::string part = pass_on(ranks, ""); !part.empty(); part = pass_on(ranks, "")) to.append(part);
}

Resumption from_rank_0(Ranks& ranks, const std::string& text) {
    Resumption found;
    BytesReader bytes(text);
    found.folder = "rank 0's folder";
    found.finished = bytes.get_text();
    found.over = bytes.get<bool>();
    found.point.round = bytes.get<std::int64_t>();
    found.data_fingerprint = bytes.get_text();
    const OwnFile config;
    config.append(bytes.get_text());
    found.loaded = load_config(config.path());
    if (bytes.get<bool>()) {
        const OwnFile checkpoint;
        receive_file(ranks, checkpoint);
        found.from = read_checkpoint(checkpoint.path());
    }
    return found;
}

/// " · 1 GPU (NVIDIA H100), 2 ranks on one"; empty on the CPU.
std::string describe_devices(const Experiment& run) {
    if (run.resources.space == aggregation::MemorySpace::Host) return "";
    const Ranks& ranks = run.ranks;
    std::set<std::pair<std::string, std::string>> devices;
    std::uint32_t most = 1;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
        devices.emplace(ranks.hosts()[rank], ranks.device(rank));
        most = std::max(most, ranks.on_device_of(rank));
    }
    return fmt::format(" · {} GPU{} ({}){}", devices.size(), devices.size() == 1 ? "" : "s",
                       aggregation::cuda_versions().device_name, most == 1 ? "" : fmt::format(", {} ranks on one", most));
}

}  // namespace

void compare_ranks(const Experiment& run) {
    Ranks& ranks = run.ranks;
    if (ranks.is_alone()) return;
    std::vector<Fact> facts = facts_of(run);
    BytesWriter mine;
    mine.put_text(to_yaml(run.config));
    for (const Fact& fact : facts) mine.put_text(fact.value);
    const std::vector<std::string> all = ranks.all_gather(mine.take(), {.seconds = kPatience});
    BytesReader first(all[0]);
    const RunConfig config = from_yaml(first.get_text(), "rank 0's config");
    for (Fact& fact : facts) fact.value = first.get_text();
    std::string found;
    for (std::uint32_t rank = 1; rank < ranks.size(); ++rank) {
        BytesReader theirs(all[rank]);
        const auto add = [&](const std::string& name, const std::string& here, const std::string& there,
                             const std::string& help) {
            found +=
                fmt::format("{}{}: {} is {}, but on {} it is {}; {}", found.empty() ? "" : "\n", ranks.name_of(rank), name,
                            there.empty() ? "not given" : there, ranks.name_of(0), here.empty() ? "not given" : here, help);
        };
        for (const ConfigChange& change : changes(config, from_yaml(theirs.get_text(), "another rank's config")))
            if (!may_differ(change)) add(change.key, change.before, change.after, "give all ranks the same config");
        for (const Fact& fact : facts)
            if (const std::string value = theirs.get_text(); value != fact.value) add(fact.name, fact.value, value, fact.help);
    }
    if (!found.empty()) throw ConfigError(found);
}

std::string describe_ranks(const Experiment& run) {
    const Ranks& ranks = run.ranks;
    if (ranks.is_alone()) return "";
    std::vector<std::pair<std::string, std::uint32_t>> hosts;
    std::string workers;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
        const auto same =
            std::find_if(hosts.begin(), hosts.end(), [&](const auto& one) { return one.first == ranks.hosts()[rank]; });
        if (same == hosts.end())
            hosts.emplace_back(ranks.hosts()[rank], 1);
        else
            ++same->second;
        workers += fmt::format("{}{}", rank == 0 ? "" : " + ", ranks.num_workers(rank));
    }
    std::string text = fmt::format("ranks       {} by MPI on", ranks.size());
    for (const auto& [host, count] : hosts) text += fmt::format(" {} ({})", host, count);
    text += fmt::format(" · workers {}", workers);
    text += describe_devices(run);
    if (run.mode.in_flight < ranks.size())
        text += fmt::format(" · {} idle: {} clients per round", ranks.size() - run.mode.in_flight, run.mode.in_flight);
    return text + "\n";
}

Resumption share_resumption(Ranks& ranks, std::optional<Resumption> found) {
    if (ranks.is_alone()) return std::move(*found);
    const std::string text = ranks.all_gather(found ? for_others(*found) : "", {.seconds = kPatience})[0];
    if (!found) return from_rank_0(ranks, text);
    if (found->from) send_file(ranks, found->from->state);
    return std::move(*found);
}

}  // namespace fedhive::sim
