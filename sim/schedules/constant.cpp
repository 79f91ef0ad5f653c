#include "sim/schedules/lr_schedule.h"

namespace fedhive::sim {

LrScheduleSpec constant_rate() {
    return {
        .name = "constant", .summary = "the same rate in every round", .keys = {}, .factor = [](const Values&, std::uint64_t) {
            return 1.0;
        }};
}

}  // namespace fedhive::sim
