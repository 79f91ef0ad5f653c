#include "sim/devices/spread.h"

#include "aggregation/base/error.h"

#include <algorithm>

namespace fedhive::sim {

// Each in the file of its name, in spreads/.
Spread constant();
Spread lognormal();
Spread zipf();

const std::vector<Spread>& spread_catalog() {
    static const std::vector<Spread> catalog = {constant(), lognormal(), zipf()};
    return catalog;
}

const Spread& spread_of(const std::string& distribution) {
    const std::vector<Spread>& catalog = spread_catalog();
    const auto found =
        std::find_if(catalog.begin(), catalog.end(), [&](const Spread& one) { return one.name == distribution; });
    FEDHIVE_CHECK(found != catalog.end(), "no distribution is called '{}'", distribution);
    return *found;
}

}  // namespace fedhive::sim
