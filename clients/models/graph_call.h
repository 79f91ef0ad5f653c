// An operation of a graph. A reader (graph_readers.h) queries its arguments one by one, and check_all_asked() fails if one was overlooked.
#pragma once

#include "aggregation/base/error.h"
#include "clients/exported/graph.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace fedhive::clients {

/// Thrown for an operation that no layer computes.
struct NoLayer : ConfigError {
    using ConfigError::ConfigError;
};

class GraphCall {
public:
    explicit GraphCall(const exported::Node& of) : node_(of) {}

    const exported::Node& node() const { return node_; }

    /// Throws NoLayer: "aten.silu.default ('silu') is no layer".
    [[noreturn]] void refuse(const std::string& why) const;

    /// A tensor's name in the graph; empty if the argument is left out or None.
    std::string tensor(const std::string& name);

    /// A number; `otherwise` if the argument is left out. Throws NoLayer for an argument of another kind. The same for the getters below.
    std::int64_t integer(const std::string& name, std::int64_t otherwise);
    double real(const std::string& name, double otherwise);
    bool flag(const std::string& name, bool otherwise);
    std::string word(const std::string& name, const std::string& otherwise);
    std::vector<std::int64_t> integers(const std::string& name);

    /// The number n of an argument [n], [n, n] or n. Throws NoLayer for [n, m], since kernels and windows of layers are square.
    std::int64_t side(const std::string& name, std::int64_t otherwise);

    /// Sizes, some of which may be values of the graph; null if the argument is left out.
    const exported::Argument* sizes(const std::string& name) { return asked(name); }

    /// A list of tensors' names; empty if the argument is left out. Throws NoLayer if one of them is None.
    std::vector<std::string> tensors(const std::string& name);

    /// Marks an argument as queried that no layer depends on.
    void ignore(const std::string& name) { asked(name); }

    /// Throws NoLayer for an argument that was not queried.
    void check_all_asked() const;

private:
    const exported::Argument* asked(const std::string& name);

    const exported::Node& node_;
    std::set<std::string> asked_;
};

}  // namespace fedhive::clients
