#include "sim/round/divergence.h"

#include <cmath>
#include <vector>

namespace fedhive::sim {

namespace {

/// Adds a key of this config with its value, if the value is above `above`.
void add_parameter(std::vector<std::string>& keys, const char* section, const Values& values, const char* name,
                   double above = 0.0) {
    const double value = values.number_or(name, 0.0);
    if (value > above) keys.push_back(fmt::format("{}.{} ({})", section, name, value));
}

std::string smaller(const std::vector<std::string>& keys) {
    return fmt::format("a smaller {} usually helps", fmt::join(keys, " or "));
}

std::vector<std::string> client_keys(const RunConfig& run) {
    std::vector<std::string> keys;
    for (const char* name : {"lr", "momentum"}) add_parameter(keys, "training.optimizer", run.training.optimizer.values, name);
    add_parameter(keys, "strategy", run.strategy.parts.local.values, "proximal_mu");
    if (run.mode.values.find("max_staleness") != nullptr && run.cohort_size() > 1) keys.emplace_back("mode.max_staleness");
    return keys;
}

}  // namespace

std::string help_for_updates(const RunConfig& run) { return smaller(client_keys(run)); }

std::string help_for_model(const RunConfig& run) {
    // A server rate up to 1 stays within the mean of the updates; an adaptive server's step is independent of their size.
    std::vector<std::string> keys;
    const auto& [server, values] = run.strategy.parts.server;
    add_parameter(keys, "strategy", values, "server_lr", aggregation::server_optimizer_spec(server).adaptive ? 0.0 : 1.0);
    add_parameter(keys, "strategy", values, "server_momentum");
    for (const std::string& of_clients : client_keys(run)) keys.push_back(of_clients);
    if (run.has_attackers()) return smaller(keys) + fmt::format("; attack '{}' may be the cause", run.attack.name);
    return smaller(keys) + "; failures.max_update_norm can refuse too large updates";
}

void require_finite(const RunConfig& run, const ServerState& server, const std::optional<Metrics>& test) {
    if (!test) return;
    const bool finite = aggregation::all_finite(server.model());
    if (finite && std::isfinite(test->test_loss)) return;
    throw Diverged(
        fmt::format("the global model has diverged: after round {} {}; {}", server.round,
                    finite ? fmt::format("its test loss is {}", std::abs(test->test_loss)) : "it contains a NaN or an infinity",
                    help_for_model(run)));
}

}  // namespace fedhive::sim
