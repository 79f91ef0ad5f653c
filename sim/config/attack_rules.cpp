#include "sim/config/attack_rules.h"

#include "aggregation/attacks/attack_catalog.h"
#include "clients/uploads/upload.h"
#include "sim/modes/mode_spec.h"

#include <fmt/format.h>

#include <cmath>

namespace fedhive::sim {

namespace {

/// There are attackers and honest clients.
void check_share(const RunConfig& run, const ConfigSource& source) {
    const aggregation::AttackSpec& spec = aggregation::attack_spec(run.attack.name);
    const double share = completed(run.attack.values, spec.keys).number("share");
    const std::int64_t clients = run.num_clients();
    const std::int64_t attackers = std::llround(share * static_cast<double>(clients));
    if (attackers > 0 && attackers < clients) return;
    if (clients < 2)
        throw source.error("attack.name",
                           fmt::format("attack '{}' needs an honest client beside an attacker, but there is only one "
                                       "client; allowed: none, or 2 or more data.partition.clients",
                                       spec.name));
    const auto all = static_cast<double>(clients);
    throw source.error(
        "attack.share",
        fmt::format("{} of {} clients, rounded, is {}; allowed with these clients: {:.6g} to {:.6g}, for 1 to {} "
                    "attackers",
                    share, clients, attackers == 0 ? "no attacker" : "all of them, so that nobody is honest", 1.0 / all,
                    (all - 1.0) / all, clients - 1));
}

}  // namespace

void check_attack(const RunConfig& run, const ConfigSource& source) {
    if (!run.has_attackers()) return;
    const std::string& name = run.attack.name;
    if (!mode_spec(run.mode.name).whole_cohort)
        throw source.error(
            "attack.name",
            fmt::format("attack '{}' needs all updates of a round at one barrier, which mode '{}' does not have; "
                        "allowed: none, or choose mode synchronous",
                        name, run.mode.name));
    if (run.training.least_per_slot() > 1)
        throw source.error(run.training.clients_per_slot ? "training.clients_per_slot" : "training.clients_at_once",
                           fmt::format("attack '{}' needs the update of every single client; allowed: 1", name));
    check_share(run, source);
    if (run.failures.max_update_norm)
        throw source.error(
            "failures.max_update_norm",
            fmt::format("is checked when an update arrives, but attack '{}' replaces updates after that, so that "
                        "a longer one would be accepted; remove it, or set attack.name: none",
                        name));
    for (const Chosen& step : run.upload)
        if (entry_of(clients::upload_catalog(), step.name, "step of an upload").noise_of_sum)
            throw source.error("upload", fmt::format("'{}' needs a share of the noise from every client, but the attackers of "
                                                     "'{}' add none; remove one of the two",
                                                     step.name, name));
}

}  // namespace fedhive::sim
