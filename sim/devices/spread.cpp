#include "sim/devices/spread.h"

namespace fedhive::sim {

// Each is in the file of its name, in spreads/.
Spread constant();
Spread lognormal();
Spread zipf();

const std::vector<Spread>& spread_catalog() {
    static const std::vector<Spread> catalog = {constant(), lognormal(), zipf()};
    return catalog;
}

const Spread& spread_of(const std::string& distribution) { return entry_of(spread_catalog(), distribution, "distribution"); }

}  // namespace fedhive::sim
