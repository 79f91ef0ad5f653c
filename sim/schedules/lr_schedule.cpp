#include "sim/schedules/lr_schedule.h"

namespace fedhive::sim {

// Each is in the file of its name.
LrScheduleSpec constant_rate();
LrScheduleSpec step_rate();
LrScheduleSpec cosine_rate();

const std::vector<LrScheduleSpec>& lr_schedule_catalog() {
    static const std::vector<LrScheduleSpec> catalog = {constant_rate(), step_rate(), cosine_rate()};
    return catalog;
}

const LrScheduleSpec& lr_schedule_spec(const std::string& name) { return entry_of(lr_schedule_catalog(), name, "schedule"); }

LrSchedule::LrSchedule(const std::string& name, const Values& given, std::uint64_t warmup_rounds)
    : spec_(&lr_schedule_spec(name)), values_(completed(given, spec_->keys)), warmup_rounds_(warmup_rounds) {}

float LrSchedule::factor(std::uint64_t round) const {
    if (round >= warmup_rounds_) return static_cast<float>(spec_->factor(values_, round - warmup_rounds_));
    return static_cast<float>(static_cast<double>(round + 1) / static_cast<double>(warmup_rounds_ + 1) *
                              spec_->factor(values_, 0));
}

}  // namespace fedhive::sim
