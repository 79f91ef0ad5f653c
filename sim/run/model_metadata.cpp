#include "sim/run/model_metadata.h"

#include "clients/models/cut.h"
#include "sim/config/load_config.h"
#include "sim/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fedhive::sim {

std::map<std::string, std::string> model_metadata(const Experiment& run, const std::optional<Metrics>& test) {
    const RunConfig& config = run.config;
    const clients::DatasetMap& data = run.data.dataset.map();
    std::map<std::string, std::string> metadata = values_below(config, "model");
    for (const char* place : {"model.init", "model.file", "model.graph"})
        metadata.erase(place);  // says where it came from, not what it is
    if (auto list = metadata.extract("model.layers")) {
        list.key() = "model.list";  // all layers; the key below names those with parameters
        metadata.insert(std::move(list));
    }
    metadata.merge(std::map<std::string, std::string>{
        {"fedhive", kVersion},
        {"commit", kCommit},
        {"name", config.name},
        {"round", std::to_string(run.server.state.round)},
        {"version", std::to_string(run.server.state.version)},
        {"model.layers", nlohmann::json(clients::model_layers(run.model.spec)).dump()},
        {"input_shape", nlohmann::json{data.shape.channels, data.shape.height, data.shape.width}.dump()},
        {"num_classes", std::to_string(data.num_classes)},
        {"data.format", config.data.format},
        {"data.normalize.mean", nlohmann::json(config.data.normalize.mean).dump()},
        {"data.normalize.std", nlohmann::json(config.data.normalize.std).dump()}});
    if (!run.model.local_part.empty())
        metadata["model.local"] = nlohmann::json(run.model.local_part.names()).dump();  // in place of its patterns
    metadata["task"] = config.task;
    if (data.shape.vocabulary > 0) metadata["vocabulary"] = std::to_string(data.shape.vocabulary);
    if (test) {
        for (const NamedMetric& metric : test->of_task) metadata["test_" + metric.name] = fmt::format("{}", metric.value);
        metadata["test_loss"] = fmt::format("{}", test->test_loss);
    }
    return metadata;
}

}  // namespace fedhive::sim
