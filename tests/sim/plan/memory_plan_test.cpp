#include "sim/plan/memory_plan.h"

#include "aggregation/math/inner_products.h"
#include "sim/config/load_config.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

constexpr std::uint64_t kPlannedFloats = 1000;
constexpr std::uint64_t kPlannedVector = kPlannedFloats * sizeof(float);

RunConfig planned_run(const std::vector<std::string>& overrides) {
    const testing::TemporaryFolder folder;
    std::ofstream(folder.path() / "run.yaml") << R"(
rounds: 2
device: cpu
data: {format: synthetic, num_train: 2000, num_test: 200, num_classes: 5, num_features: 16, partition: {scheme: iid, clients: 10}}
model: {name: mlp, hidden: 64}
training: {cohort: 7, batch_size: 16, local_steps: 2}
)";
    return load_config(folder.path() / "run.yaml", overrides).run;
}

struct PlannedBytes {
    std::uint64_t host;
    std::uint64_t device;
};

/// What a worker needs with `overrides`, beyond what it needs without.
PlannedBytes planned_more(const std::vector<std::string>& overrides, std::uint64_t num_floats = kPlannedFloats) {
    const RunConfig with = planned_run(overrides), without = planned_run({});
    return {host_bytes_of_worker(with, {}, num_floats, 1) - host_bytes_of_worker(without, {}, num_floats, 1),
            device_bytes_beyond_rehearsal(with, {}, num_floats, 1) - device_bytes_beyond_rehearsal(without, {}, num_floats, 1)};
}

}  // namespace

TEST_SUITE("MemoryPlan") {
    TEST_CASE("HistoriesNeedARangeOfColumnsOfEachClientOfTheCohort") {
        const std::uint64_t cohort = 7;
        const PlannedBytes few = planned_more({"strategy.name=foolsgold"});
        CHECK(few.host == cohort * kPlannedVector);
        CHECK(few.device == cohort * kPlannedVector);
        const std::uint64_t columns = aggregation::kGramColumns;
        CHECK(planned_more({"strategy.name=foolsgold"}, 3 * columns).host == cohort * columns * sizeof(float));
    }

    TEST_CASE("AMeasuredGradientNeedsItsMeanAndZeros") {
        const PlannedBytes measured = planned_more({"sampling={name: gradient_norm, candidates: 9}"});
        CHECK(measured.host == 2 * kPlannedVector);
        CHECK(measured.device == 2 * kPlannedVector);
    }

    TEST_CASE("AStepOfUploadThatLeavesValuesOutNeedsTheUpdateAndASelection") {
        CHECK(planned_more({"upload=[{name: top_k, kept: 0.1}]"}).host == 3 * kPlannedVector);
        CHECK(planned_more({"upload=[{name: clip, norm: 1}]"}).host == kPlannedVector);
    }

    TEST_CASE("ClientsAtOnceNeedAModelAGradientAndMomentumEach") {
        const std::vector<std::string> momentum{"training.optimizer={name: sgd, lr: 0.1, momentum: 0.9}"};
        CHECK(planned_more(momentum).host == kPlannedVector);
        std::vector<std::string> at_once = momentum;
        at_once.emplace_back("training.clients_at_once=4");
        CHECK(planned_more(at_once).host == (1 + 4 * 3) * kPlannedVector);
    }
}
