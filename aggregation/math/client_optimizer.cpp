#include "aggregation/math/client_optimizer.h"

namespace fedhive::aggregation {

// Each in the file of its name.
OptimizerSpec sgd();

const std::vector<OptimizerSpec>& optimizer_catalog() {
    static const std::vector<OptimizerSpec> catalog = {sgd()};
    return catalog;
}

const OptimizerSpec& optimizer_spec(const std::string& name) { return entry_of(optimizer_catalog(), name, "optimizer"); }

}  // namespace fedhive::aggregation
