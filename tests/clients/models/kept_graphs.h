// Golden files of torch.export that become layers, altered so that they stay graphs.
#pragma once

#include "clients/exported/roles.h"
#include "clients/models/model_plan.h"
#include "tests/support/exported_file.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

#include <functional>

namespace fedhive::testing {

using namespace fedhive::clients;
using Json = nlohmann::json;

inline ModelSpec image_spec() {
    ModelSpec spec;
    spec.name.set(kExportedModel);
    spec.input = {1, 12, 12};
    spec.num_classes = 4;
    return spec;
}

inline ModelSpec token_spec() {
    ModelSpec spec = image_spec();
    spec.input = {6, 1, 1, 11};
    return spec;
}

inline exported::Program program_in(const std::string& bytes) {
    return exported::read_program(std::as_bytes(std::span(bytes)));
}

/// The reason why the file stays a graph.
inline std::string kept(const std::string& bytes, const ModelSpec& spec = image_spec()) {
    return kept_as_graph(spec, program_in(bytes));
}

inline void check_kept(const std::string& name, const std::string& why, const std::function<void(ExportedFile&)>& alter,
                       const ModelSpec& spec = image_spec()) {
    ExportedFile file(name);
    REQUIRE(kept(file.archive(), spec).empty());
    alter(file);
    const std::string problem = kept(file.archive(), spec);
    CHECK_MESSAGE(problem.find(why) != std::string::npos, why << "\n" << problem);
    CHECK_MESSAGE_IS("models", "", problem);
}

inline Json integer(std::int64_t value) { return {{"as_int", value}}; }
inline Json real(double value) { return {{"as_float", value}}; }
inline Json text(const std::string& value) { return {{"as_string", value}}; }
inline Json flag(bool value) { return {{"as_bool", value}}; }
inline Json ints(const std::vector<std::int64_t>& values) { return {{"as_ints", values}}; }
inline Json tensor(const std::string& name) { return {{"as_tensor", {{"name", name}}}}; }
inline const Json kNone{{"as_none", true}};

inline void check_argument_kept(const std::string& name, const std::string& operation, const std::string& argument,
                                const Json& value, const std::string& why) {
    check_kept(name, why, [&](ExportedFile& file) { file.argument(operation, argument, value); });
}

}  // namespace fedhive::testing
