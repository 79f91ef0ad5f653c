#include "sim/plan/visit_text.h"

#include "clients/models/model_plan.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

namespace fedhive::sim {

namespace {

void refuse_what_no_visit_has(const LoadedConfig& loaded, const VisitFile& visit, const ModelSetup& model,
                              aggregation::MemorySpace space) {
    const auto refuse = [&](const char* key, const std::string& text) {
        throw loaded.source->error(key, fmt::format("{} ({}) {}", visit.key, visit.file.filename().string(), text));
    };
    if (space != aggregation::MemorySpace::Host) refuse("device", "trains in host memory; set device: cpu");
    if (clients::num_frozen(model.spec) > 0)
        refuse("model.file", "gets all parameters of the model, but the file has frozen ones; export it without them");
}

}  // namespace

std::unique_ptr<aggregation::SharedSegment> visit_text(const LoadedConfig& loaded, const ModelSetup& model,
                                                       aggregation::MemorySpace space) {
    const VisitFile* const visit = loaded.run.strategy.parts.visit.get();
    if (visit == nullptr) return nullptr;
    refuse_what_no_visit_has(loaded, *visit, model, space);
    const StrategyParts& parts = loaded.run.strategy.parts;
    nlohmann::json json{{"file", visit->file.string()},
                        {"key", visit->key},
                        {"source", visit->source},
                        {"keys", nlohmann::json::parse(keys_as_json(*visit, completed(parts.of_visit, visit->keys)))},
                        {"memory", nlohmann::json::array()},
                        {"reports", nlohmann::json::array()}};
    for (const KeptMemory& memory : visit->memory) json["memory"].push_back(memory.name);
    if (parts.visits_by_method())
        for (const aggregation::formulas::MethodMemory& memory : parts.method->formulas.memories)
            if (memory.is_declared()) json["memory"].push_back(memory.name);
    for (const ReportDoc& report : visit->reports) json["reports"].push_back(report.name);
    const std::string text = json.dump();
    auto segment = std::make_unique<aggregation::SharedSegment>("fedhive-visit-text", text.size());
    std::copy(text.begin(), text.end(), reinterpret_cast<char*>(segment->data()));
    return segment;
}

clients::VisitHandle handle_of(const aggregation::SharedSegment* text) {
    if (text == nullptr) return {};
    return {text->descriptor(), text->size()};
}

}  // namespace fedhive::sim
