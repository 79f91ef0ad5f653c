#include "sim/config/run_config.h"

#include "aggregation/attacks/attack_catalog.h"
#include "aggregation/cohort/aggregator_catalog.h"
#include "clients/data/partition.h"
#include "clients/uploads/upload.h"
#include "sim/modes/mode_spec.h"

#include <algorithm>
#include <cmath>

namespace fedhive::sim {

Seeds RunConfig::all_seeds() const {
    return {.data = seeds.data.value_or(seed),
            .partition = seeds.partition.value_or(seed),
            .model = seeds.model.value_or(seed),
            .sampling = seeds.sampling.value_or(seed),
            .training = seeds.training.value_or(seed)};
}

std::int64_t RunConfig::num_clients() const {
    const PartitionConfig& partition = data.partition;
    const bool named = clients::partition_scheme(partition.scheme).names_clients;
    return partition.clients.value_or(named ? static_cast<std::int64_t>(kMost) : PartitionConfig::kDefaultClients);
}

std::int64_t RunConfig::cohort_size() const {
    const std::int64_t clients = num_clients();
    if (training.cohort) return *training.cohort;
    if (!training.participation) return clients;
    return std::clamp<std::int64_t>(std::llround(*training.participation * static_cast<double>(clients)), 1, clients);
}

std::vector<std::string> RunConfig::measures() const {
    std::vector<std::string> wanted;
    const auto want = [&](const std::string& measure) {
        if (std::find(wanted.begin(), wanted.end(), measure) == wanted.end()) wanted.push_back(measure);
    };
    for (const std::string& measure : training.measure) want(measure);
    for (const std::string& measure :
         aggregation::aggregator_spec(parts_of(strategy.name, strategy.parts).aggregator.name).measures)
        want(measure);
    if (strategy.formulas().reads_sent_loss()) want("loss");
    return wanted;
}

bool RunConfig::has_attackers() const { return aggregation::attack_spec(attack.name).craft != nullptr; }

namespace {

bool any_keeps_residual(const std::vector<Chosen>& steps) {
    return std::any_of(steps.begin(), steps.end(), [](const Chosen& step) {
        return entry_of(clients::upload_catalog(), step.name, "step of an upload").keeps_residual();
    });
}

}  // namespace

bool RunConfig::keeps_residual() const { return any_keeps_residual(upload); }

bool RunConfig::sends_changes() const { return any_keeps_residual(download); }

bool RunConfig::adapts_clip() const {
    return std::any_of(upload.begin(), upload.end(), [](const Chosen& step) {
        return entry_of(clients::upload_catalog(), step.name, "step of an upload").adapts;
    });
}

bool RunConfig::waits_for_all() const {
    const std::int64_t cohort = cohort_size();
    return mode_spec(mode.name).whole_cohort && mode.quorum().value_or(cohort) == cohort;
}

std::optional<std::int64_t> ModeConfig::quorum() const {
    return values.find("quorum") == nullptr ? std::nullopt : values.optional_integer("quorum");
}

}  // namespace fedhive::sim
