#include "sim/devices/availability.h"

#include "aggregation/base/error.h"

#include <algorithm>

namespace fedhive::sim {

// Each in the file of its name, in availabilities/.
AvailabilityScheme always();
AvailabilityScheme probability();
AvailabilityScheme trace();

const std::vector<AvailabilityScheme>& availability_catalog() {
    static const std::vector<AvailabilityScheme> catalog = {always(), probability(), trace()};
    return catalog;
}

const AvailabilityScheme& availability_scheme(const std::string& name) {
    const std::vector<AvailabilityScheme>& catalog = availability_catalog();
    const auto found = std::find_if(catalog.begin(), catalog.end(), [&](const auto& scheme) { return scheme.name == name; });
    FEDHIVE_CHECK(found != catalog.end(), "no availability is called '{}'", name);
    return *found;
}

}  // namespace fedhive::sim
