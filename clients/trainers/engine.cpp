#include "clients/trainers/engine.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/models/initial.h"
#include "clients/trainers/direct_trainer.h"

namespace fedhive::clients {

std::unique_ptr<Trainer> make_trainer(const WorkerPlan& plan, const SharedDataset& dataset,
                                      aggregation::ConstParamSpan frozen) {
    FEDHIVE_CHECK(honoured_by(way_of(plan.engine, plan.space, plan.asked)).has_all(plan.asked),
                  "the run asks the engine {} for what it does not know", word_of(plan.engine));
    if (plan.engine == Engine::Direct) return make_direct_trainer(plan, dataset, frozen);
    return libtorch_engine().make_trainer(plan, dataset, frozen);
}

void initial_parameters(const ModelSpec& spec, const aggregation::Layout& layout, std::uint64_t seed,
                        aggregation::ParamSpan to) {
    if (spec.exported.given()) return exported::store_values(exported::read_program(spec.exported), layout, to);
    ModelSpec whole = spec;
    whole.frozen = {};
    const std::uint64_t drawn_from = Stream(seed, Purpose::ModelInit).next_u64();
    if (!draw_initial(whole, layout, drawn_from, to)) libtorch_engine().initial_parameters(whole, layout, drawn_from, to);
}

}  // namespace fedhive::clients
