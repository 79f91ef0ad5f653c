// Schedules of the client rate over rounds. Each schedule is one file of this folder, with its keys. To add one: write the
// file, add its line to lr_schedule.cpp.
#pragma once

#include "aggregation/base/keys.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::sim {

struct LrScheduleSpec {
    std::string name;
    std::string summary;  // what it does: half a line
    std::vector<KeySpec> keys;
    /// Multiple of training.optimizer.lr, above 0. round: from 0, after the warm-up. `values`: of all its keys.
    double (*factor)(const Values& values, std::uint64_t round) = nullptr;
};

/// All schedules, in the order of REFERENCE.md.
const std::vector<LrScheduleSpec>& lr_schedule_catalog();

/// The name must exist.
const LrScheduleSpec& lr_schedule_spec(const std::string& name);

/// A schedule with its values, after a linear warm-up: round r < W has (r + 1) / (W + 1) of the rate with which the schedule
/// begins in round W. Depends only on the round, not on the number of rounds, so that a run can be extended.
///
/// Source   warm-up: Goyal et al. 2017 (arXiv:1706.02677), section 2.2, by rounds.
class LrSchedule {
public:
    LrSchedule() : LrSchedule("constant", {}, 0) {}
    LrSchedule(const std::string& name, const Values& given, std::uint64_t warmup_rounds);

    /// round: from 0, the round in which a client is sent.
    float factor(std::uint64_t round) const;

private:
    const LrScheduleSpec* spec_;
    Values values_;
    std::uint64_t warmup_rounds_;
};

}  // namespace fedhive::sim
