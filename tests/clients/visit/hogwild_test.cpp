#include "clients/data/formats/synthetic.h"
#include "clients/visit/local_training.h"
#include "tests/clients/visit/replicas.h"
#include "tests/support/evaluated.h"

#include <doctest/doctest.h>

#include <numeric>

using namespace fedhive;
using namespace fedhive::clients;
using namespace fedhive::testing;

namespace {

struct HogwildSetting {
    explicit HogwildSetting(aggregation::SgdOptions optimizer) : dataset(draw_synthetic({200, 20, 4, 12, 2.0}, 7)), all(200) {
        task.spec = named_model("mlp", dataset.train.shape, dataset.num_classes, {{"hidden", 16}});
        task.train = {dataset.train.shape, dataset.train.values, dataset.train.labels};
        task.optimizer = optimizer;
        task.plan = {5, 2, 16};
        shared = first_state(task, model_layout(task.spec)).model;
        std::iota(all.begin(), all.end(), 0U);
    }

    ClientStart start() {
        ClientStart result;
        result.global = shared;
        result.shared = RacyModel(shared);
        return result;
    }

    Dataset dataset;
    SharedTask task;
    std::vector<float> shared;
    std::vector<std::uint32_t> all;
};

}  // namespace

TEST_SUITE("Hogwild") {
    TEST_CASE("OneWorkerAloneLeavesTheBitsOfOrdinaryTraining") {
        for (const float momentum : {0.0F, 0.9F}) {
            HogwildSetting setting({0.05F, momentum, 0.01F, false});
            Replica replica(setting.task);
            std::vector<float> update(setting.shared.size());
            const ClientResult ordinary =
                train_client(replica.step, setting.task.plan, {}, 2, 9, setting.all, setting.shared, update);
            const auto local = replica.step.parameters().host();
            const std::vector<float> wanted(local.begin(), local.end());
            const ClientResult result = train_hogwild(replica.step, setting.task.plan, 2, 9, setting.all, setting.shared);
            CHECK(setting.shared == wanted);
            CHECK(result.steps == ordinary.steps);
            CHECK(result.train_loss == ordinary.train_loss);
            CHECK(result.finite == 1);
            CHECK(result.update_norm == 0.0);
            CHECK(result.update_hash == 0);
        }
    }

    TEST_CASE("StepReadsWhatOthersWroteAndAddsToIt") {
        HogwildSetting setting({0.25F, 0.5F, 0.0F, false});
        Replica first(setting.task), second(setting.task);
        const std::vector<float> before = setting.shared;
        first.step.begin(setting.start());
        second.step.begin(setting.start());
        first.step.compute_gradient(std::span(setting.all).first(16));
        second.step.compute_gradient(std::span(setting.all).last(16));
        CHECK(setting.shared == before);
        first.step.apply_gradients();
        second.step.apply_gradients();
        const auto mine = first.step.gradient().host(), others = second.step.gradient().host();
        for (std::size_t i = 0; i < mine.size(); ++i)
            REQUIRE(setting.shared[i] == (before[i] - 0.25F * mine[i]) - 0.25F * others[i]);
        first.step.compute_gradient(setting.all);
        const auto local = first.step.parameters().host();
        CHECK(std::vector(local.begin(), local.end()) == setting.shared);
    }

    TEST_CASE("VelocityIsTheWorkersOwn") {
        HogwildSetting setting({0.25F, 0.5F, 0.0F, false});
        Replica first(setting.task), second(setting.task);
        first.step.begin(setting.start());
        second.step.begin(setting.start());
        first.step.step(std::span(setting.all).first(16));
        const auto velocity = first.step.optimizer_state().host(), gradient = first.step.gradient().host();
        CHECK(std::vector(velocity.begin(), velocity.end()) == std::vector(gradient.begin(), gradient.end()));
        const auto others = second.step.optimizer_state().host();
        CHECK(std::count(others.begin(), others.end(), 0.0F) == static_cast<std::ptrdiff_t>(others.size()));
    }

    TEST_CASE("RacingWorkersLearn") {
        // Threads replace the processes; the race is intended (racy_model.h).
        HogwildSetting setting({0.1F, 0.5F, 0.0F, false});
        Replica judge(setting.task);
        LibtorchEvaluation evaluation(judge.model, setting.task.train.shape, {});
        const testing::Evaluated before = testing::evaluated_range(evaluation, setting.shared, setting.task.train, 0, 200);
        {
            std::vector<std::jthread> workers;
            for (std::uint32_t worker = 0; worker < 3; ++worker)
                workers.emplace_back([&, worker] {
                    Replica replica(setting.task);
                    const ClientResult result =
                        train_hogwild(replica.step, {5, 120, 16}, 0, worker, setting.all, setting.shared);
                    CHECK(result.finite == 1);
                });
        }
        const testing::Evaluated after = testing::evaluated_range(evaluation, setting.shared, setting.task.train, 0, 200);
        // Also where most steps are lost to the others': one worker alone would get there.
        CHECK(after.loss_sum < 0.8 * before.loss_sum);
        CHECK(after.correct > before.correct);
    }

    TEST_CASE("LossThatIsNotFiniteIsTold") {
        HogwildSetting setting({1e30F, 0.0F, 0.0F, false});
        Replica replica(setting.task);
        CHECK(train_hogwild(replica.step, setting.task.plan, 0, 0, setting.all, setting.shared).finite == 0);
    }
}
