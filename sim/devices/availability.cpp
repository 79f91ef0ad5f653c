#include "sim/devices/availability.h"

namespace fedhive::sim {

// Each is in the file of its name, in availabilities/.
AvailabilityScheme always();
AvailabilityScheme probability();
AvailabilityScheme trace();

const std::vector<AvailabilityScheme>& availability_catalog() {
    static const std::vector<AvailabilityScheme> catalog = {always(), probability(), trace()};
    return catalog;
}

const AvailabilityScheme& availability_scheme(const std::string& name) {
    return entry_of(availability_catalog(), name, "availability");
}

}  // namespace fedhive::sim
