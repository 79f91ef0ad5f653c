#include "sim/plan/next_cohort.h"

namespace fedhive::sim {

CountedCohort next_cohort(const Experiment& run, Sampler& sampler, const Cohort& busy, std::int64_t round, std::size_t arrived,
                          double& now_s, const AskMeasure& ask) {
    const Stream stream(run.config.all_seeds().sampling, Purpose::Sampling, static_cast<std::uint32_t>(round),
                        static_cast<std::uint32_t>(arrived));
    const std::size_t room = run.mode.room(busy.size(), run.config.rounds - round, arrived);
    return CountedCohort::of(
        sample_idle(sampler, run.data.dataset.map().num_clients, busy, room, stream, run.devices, now_s, ask));
}

}  // namespace fedhive::sim
