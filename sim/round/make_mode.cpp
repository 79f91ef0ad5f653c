#include "sim/round/make_mode.h"

#include "aggregation/math/client_optimizer.h"
#include "sim/modes/mode_spec.h"

#include <utility>

namespace fedhive::sim {

namespace {

ModeInput input_of(const RunConfig& run) {
    return {completed(run.mode.values, mode_spec(run.mode.name).keys), static_cast<std::size_t>(run.cohort_size()),
            optimizer_options(run.training.optimizer)};
}

}  // namespace

aggregation::OptimizerOptions optimizer_options(const Chosen& optimizer) {
    const aggregation::OptimizerSpec& spec = aggregation::optimizer_spec(optimizer.name);
    return spec.build(completed(optimizer.values, spec.keys));
}

Mode make_mode(const RunConfig& run) { return mode_spec(run.mode.name).build(input_of(run)); }

Strategy make_mode_strategy(const RunConfig& run, const aggregation::Arena& arena, const aggregation::Layout& layout,
                            const aggregation::Memories& memories, std::uint64_t num_clients) {
    Strategy strategy = make_strategy(run.strategy.name, run.strategy.weighting, run.strategy.parts);
    const LrScheduleConfig& schedule = run.training.lr_schedule;
    strategy.lr_schedule = LrSchedule(schedule.name, schedule.values, static_cast<std::uint64_t>(schedule.warmup_rounds));
    if (const auto take_over = mode_spec(run.mode.name).take_over)
        take_over(strategy, input_of(run), arena);
    else
        strategy.server_optimizer =
            make_formula_server(strategy.on_server, {layout, memories, num_clients}, strategy.cohort_numbers);
    return strategy;
}

}  // namespace fedhive::sim
