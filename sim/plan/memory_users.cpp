#include "sim/plan/memory_users.h"

#include "clients/models/local_part.h"
#include "clients/uploads/upload.h"
#include "sim/strategies/strategy.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace fedhive::sim {

namespace {

/// Those of the local rule; memories that are numbers begin as the run's keys say.
std::vector<aggregation::MemorySpec> of_strategy(const std::string& name, const StrategyParts& parts) {
    const StrategyParts complete = parts_of(name, parts);
    std::vector<aggregation::MemorySpec> memories = local_rule_of(complete).memories;
    const aggregation::formulas::MethodFormulas method = formulas_of(complete);
    for (aggregation::MemorySpec& spec : memories)
        for (const aggregation::formulas::MethodMemory& memory : method.memories)
            if (memory.name == spec.name) spec.start = static_cast<float>(memory.first);
    return memories;
}

}  // namespace

std::vector<MemoryUser> memory_users(const RunConfig& run) {
    std::vector<MemoryUser> users;
    users.push_back({of_strategy(run.strategy.name, run.strategy.parts), "strategy.name",
                     fmt::format("strategy '{}'", run.strategy.title()), "choose another strategy"});
    if (run.strategy.histories())
        users.push_back({{{.name = aggregation::kHistory,
                           .owner = aggregation::MemoryOwner::Client,
                           .change = aggregation::MemoryChange::AddUpdate}},
                         "strategy.name",
                         fmt::format("strategy '{}'", run.strategy.title()),
                         "choose another strategy"});
    if (run.strategy.visits_keep()) {
        std::vector<aggregation::MemorySpec> kept;
        const VisitFile& visit = *run.strategy.parts.visit;
        for (const KeptMemory& memory : visit.memory)
            kept.push_back(
                {.name = memory.name,
                 .owner = aggregation::MemoryOwner::Client,
                 .shape = memory.shape,
                 .first = memory.begins_as_model ? aggregation::FirstValue::SentModel : aggregation::FirstValue::Zero,
                 .change = aggregation::MemoryChange::Set});
        users.push_back({std::move(kept), run.strategy.visit.empty() ? "strategy.file" : "strategy.visit",
                         visit.file.filename().string(), "declare fewer memories in it"});
    }
    for (const Chosen& step : run.upload)
        users.push_back({entry_of(clients::upload_catalog(), step.name, "step of an upload").memories, "upload",
                         fmt::format("'{}'", step.name), "remove the upload step"});
    if (run.model.has_local_part())
        users.push_back({{clients::LocalPart::memory()}, "model.local", "model.local", "give model.local fewer patterns"});
    std::erase_if(users, [](const MemoryUser& user) { return user.memories.empty(); });
    return users;
}

}  // namespace fedhive::sim
