#include "sim/mode.h"

namespace fedhive::sim {

Mode make_mode(const RunConfig& run) {
    const auto cohort = static_cast<std::size_t>(run.cohort_size());
    return {cohort, cohort};
}

}  // namespace fedhive::sim
