#include "sim/config/implied.h"

#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/client_optimizer.h"
#include "clients/data/partition.h"
#include "clients/uploads/upload.h"
#include "sim/config/root_rules.h"
#include "sim/config/tree_noise_rules.h"
#include "sim/modes/mode_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace fedhive::sim {

namespace {

/// The size of FLTrust's own root data set (section V-A).
constexpr std::int64_t kRootExamples = 100;

bool takes_plain_steps(const Chosen& optimizer) {
    return aggregation::optimizer_spec(optimizer.name).sgd_steps && optimizer.values.number_or("momentum", 0.0) == 0.0;
}

/// The server can train on examples of its own.
bool can_have_root(const RunConfig& run, const aggregation::AggregatorSpec& rule) {
    const std::vector<std::string> modes = modes_of(rule);
    return rule.root && !clients::partition_scheme(run.data.partition.scheme).by_number &&
           std::find(modes.begin(), modes.end(), run.mode.name) != modes.end();
}

}  // namespace

std::string leave_former_keys(YamlNode& root) {
    const auto strategy = std::ranges::find(root.children, "strategy", &YamlNode::key);
    if (strategy == root.children.end()) return "";
    const YamlNode* name = strategy->find("name");
    if (name == nullptr || !name->grafted || name->dropped()) return "";
    const std::string former = name->before.empty() ? StrategyConfig{}.name : name->before;
    if (former == name->text) return "";
    std::vector<std::string> left;
    std::string where;
    for (const YamlNode& child : strategy->children) {
        if (child.grafted) continue;
        left.push_back(fmt::format("strategy.{}", child.key));
        if (where.empty()) where = child.where();
    }
    if (left.empty()) return "";
    std::string line =
        fmt::format("{} of {} went with '{}' and {} not apply to '{}'; to have {}, use --set", fmt::join(left, ", "), where,
                    former, left.size() == 1 ? "does" : "do", name->text, left.size() == 1 ? "it" : "them");
    std::erase_if(strategy->children, [](const YamlNode& child) { return !child.grafted; });
    return line;
}

std::vector<std::string> take_implied(RunConfig& run,
                                      const std::function<bool(const std::string& section, const std::string& key)>& gives) {
    std::vector<std::string> lines;
    if (!gives("strategy", "option") && run.strategy.parts.local.name == "scaffold" && run.strategy.state_of_steps() &&
        !takes_plain_steps(run.training.optimizer)) {
        run.strategy.parts.local.values.set("option", std::int64_t{1});
        lines.emplace_back("strategy.option: 1, since clients do not take plain SGD steps, which option 2 needs");
    }
    const aggregation::AggregatorSpec& rule = aggregation::aggregator_spec(run.strategy.parts.aggregator.name);
    if (!run.data.root_examples && can_have_root(run, rule)) {
        run.data.root_examples = kRootExamples;
        lines.push_back(
            fmt::format("data.root_examples: {}, since {} needs examples of the server", kRootExamples, who_needs_root(run)));
    }
    if (has_tree_noise(run) && !gives("", "upload")) {
        run.upload = {Chosen{"clip", completed({}, entry_of(clients::upload_catalog(), "clip", "step of an upload").keys)}};
        lines.push_back(fmt::format("upload: clip to norm {}, since the noise of server '{}' depends on the norm",
                                    run.upload.front().values.number("norm"), run.strategy.parts.server.name));
    }
    return lines;
}

}  // namespace fedhive::sim
