// Files of tests/golden/exported, unchanged or altered to simulate hostile and damaged files.
#pragma once

#include "clients/exported/archive.h"
#include "tests/support/places.h"
#include "tests/support/zip_archive.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>
#include <string>

namespace fedhive::testing {

inline std::filesystem::path golden_file(const std::string& name) { return source_folder() / "tests/golden/exported" / name; }

inline std::string golden_bytes(const std::string& name) {
    std::ifstream stream(golden_file(name), std::ios::binary);
    if (!stream) throw std::runtime_error("cannot read " + golden_file(name).string());
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

class ExportedFile {
public:
    using Json = nlohmann::json;

    /// `name`: of a golden file, such as "cnn".
    explicit ExportedFile(const std::string& name) : bytes_(golden_bytes(name + ".pt2")) {
        const clients::exported::Archive archive(std::as_bytes(std::span(bytes_)));
        for (const auto& [member, size] : archive.members()) members.emplace_back(member, archive.read(member));
        model = Json::parse(member("/models/model.json"));
        weights = Json::parse(member("_weights_config.json"));
    }

    Members members;
    Json model, weights;  // parsed; archive() writes them back

    /// The member whose name has that ending.
    std::string& member(const std::string& end) {
        for (auto& [name, content] : members)
            if (name.ends_with(end)) return content;
        throw std::runtime_error("no member " + end);
    }

    /// The bytes as PyTorch wrote them.
    const std::string& bytes() const { return bytes_; }

    /// The archive with all alterations.
    std::string archive() {
        for (auto& [name, content] : members) {
            if (name.find("/models/") != std::string::npos && name.ends_with(".json")) content = model.dump();
            if (name.ends_with("_weights_config.json")) content = weights.dump();
        }
        return archive_of(members);
    }

    Json& nodes() { return model["graph_module"]["graph"]["nodes"]; }

    /// The first operation whose name contains `part`.
    Json& node(const std::string& part) {
        for (Json& each : nodes())
            if (each["target"].get<std::string>().find(part) != std::string::npos) return each;
        throw std::runtime_error("no operation " + part);
    }

    /// Sets an argument of that operation, or adds it.
    void argument(const std::string& part, const std::string& name, const Json& value) {
        for (Json& input : node(part)["inputs"])
            if (input["name"] == name) {
                input["arg"] = value;
                return;
            }
        node(part)["inputs"].push_back({{"name", name}, {"arg", value}, {"kind", 1}});
    }

    /// Sets a property of a tensor such as "conv1.weight": "sizes", "dtype", "use_pickle", "path_name".
    void meta(const std::string& tensor, const std::string& key, const Json& value) {
        Json& entry = weights["config"][tensor];
        (entry.contains(key) ? entry : entry["tensor_meta"])[key] = value;
    }

    /// Inserts an operation before the `at`th: such as "mul_.Tensor" of a value and a number, with `more` arguments.
    void insert(std::size_t at, const std::string& target, const std::string& value, const Json& more,
                const std::string& result) {
        Json inputs = {{{"name", "self"}, {"arg", {{"as_tensor", {{"name", value}}}}}, {"kind", 1}}};
        for (const auto& [name, argument] : more.items()) inputs.push_back({{"name", name}, {"arg", argument}, {"kind", 1}});
        const Json made{{"target", "torch.ops.aten." + target},
                        {"inputs", inputs},
                        {"outputs", {{{"as_tensor", {{"name", result}}}}}},
                        {"metadata", Json::object()}};
        nodes().insert(nodes().begin() + static_cast<std::ptrdiff_t>(at), made);
    }

    /// The graph's name of the examples.
    std::string input() { return model["graph_module"]["graph"]["inputs"].back()["as_tensor"]["name"]; }

private:
    std::string bytes_;
};

}  // namespace fedhive::testing
