// Tensors of a graph that do not depend on the examples, such as the mask of an attention: stored ones, and those computed from them.
#pragma once

#include "clients/exported/program.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::clients {

struct GraphConstant {
    std::vector<std::int64_t> sizes;
    std::vector<float> values;  // row major; 0 and 1 of flags
    bool flags = false;
};

class GraphConstants {
public:
    /// `program` must outlive this object.
    explicit GraphConstants(const exported::Program& program) : program_(program) {}

    /// Computes what an operation gives from constants. Returns false for an operation that takes other values, that this class does not
    /// compute, or whose result is large.
    bool read(const exported::Node& node);

    /// Null for a value that is no constant.
    const GraphConstant* find(const std::string& value);

private:
    std::optional<GraphConstant> stored(const std::string& value) const;
    std::optional<GraphConstant> computed(const exported::Node& node);

    const exported::Program& program_;
    std::map<std::string, GraphConstant> known_;
};

}  // namespace fedhive::clients
