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
        throw loaded.source->error(key, fmt::format("strategy.visit ({}) {}", visit.file.filename().string(), text));
    };
    if (space != aggregation::MemorySpace::Host) refuse("device", "trains in host memory; set device: cpu");
    if (clients::num_frozen(model.spec) > 0)
        refuse("model.file", "gets all parameters of the model, but the file has frozen ones; export it without them");
    if (visit.takes_model && model.spec.is_graph())
        refuse("strategy.visit",
               "takes the `model`, a module of PyTorch, which fedhive makes of layers, but the model runs as a graph; take "
               "`weights`, and use them with a module of your own (torch.func.functional_call)");
}

}  // namespace

std::unique_ptr<aggregation::SharedSegment> visit_text(const LoadedConfig& loaded, const ModelSetup& model,
                                                       aggregation::MemorySpace space) {
    const VisitFile* const visit = loaded.run.strategy.parts.visit.get();
    if (visit == nullptr) return nullptr;
    refuse_what_no_visit_has(loaded, *visit, model, space);
    nlohmann::json json{{"file", visit->file.string()}, {"source", visit->source}, {"memory", nlohmann::json::array()}};
    for (const auto& [name, shape] : visit->memory) json["memory"].push_back(name);
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
