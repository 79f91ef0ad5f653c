// Methods that papers compare and fedhive does not have, each with the reason.
#pragma once

#include <map>
#include <string>

namespace fedhive::sim {

struct MissingMethod {
    std::string title;  // "FedGen: Zhu et al. 2021 (arXiv:2105.10056)"
    std::string why;    // "its server trains a generator"
};

/// The missing methods by name, in lower case with _ for -.
const std::map<std::string, MissingMethod>& missing_methods();

}  // namespace fedhive::sim
