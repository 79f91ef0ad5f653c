// LibTorch's steps for one and for several clients, eager, padded and recorded, against the contract of steps.
#include "clients/engine/recorded_step.h"
#include "clients/worker/supervised_step.h"
#include "tests/clients/engine/gpu_training.h"
#include "tests/clients/visit/batched_clients.h"
#include "tests/conformance/rows_conformance.h"
#include "tests/support/skip.h"

#include <ATen/Context.h>
#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::clients;
using conformance::RowsUnderTest;
using conformance::StepUnderTest;
using fedhive::testing::Clients;
using fedhive::testing::kTrainedModels;
using fedhive::testing::MemorySpace;
using fedhive::testing::no_training_on_gpu;
using fedhive::testing::OptimizerOptions;
using fedhive::testing::SgdOptions;

namespace {

constexpr std::size_t kLargestBatch = 16;

/// The object under test and everything it refers to.
struct Held {
    Held(std::string_view name, const OptimizerOptions& optimizer, bool dropout, MemorySpace space)
        : clients(name, optimizer, dropout, space) {}
    Clients clients;
    std::unique_ptr<TrainingStep> own;  // wraps one of the clients' steps
    WorkerCell cell;
    Supervision supervision{cell, [] { return false; }, false};
};

using Wrap = std::function<TrainingStep&(Held&)>;

template <typename Options>
std::function<std::shared_ptr<TrainingStep>(const Options&)> maker(std::string_view name, bool dropout, MemorySpace space,
                                                                   Wrap wrap) {
    return [=](const Options& optimizer) {
        const auto held = std::make_shared<Held>(name, optimizer, dropout, space);
        return std::shared_ptr<TrainingStep>(held, &wrap(*held));
    };
}

TrainingStep& eager(Held& held) { return held.clients.step; }
TrainingStep& recorded(Held& held) { return *(held.own = make_recorded_step(held.clients.step, kLargestBatch)); }
TrainingStep& supervised(Held& held) {
    return *(held.own = std::make_unique<SupervisedStep>(held.clients.step, held.supervision));
}

TrainingStep& eager_rows(Held& held) { return held.clients.batched; }
TrainingStep& padded_rows(Held& held) {
    held.clients.batched.fix_places(kLargestBatch);
    return held.clients.batched;
}
TrainingStep& recorded_rows(Held& held) { return *(held.own = make_recorded_step(held.clients.batched, kLargestBatch)); }
TrainingStep& supervised_rows(Held& held) {
    held.supervision.expect(std::vector<InjectedFault>(4), 0, [](std::size_t) {});
    return *(held.own = std::make_unique<SupervisedStep>(held.clients.batched, held.supervision));
}

StepUnderTest one(std::string_view name, Wrap wrap, bool dropout = false, MemorySpace space = MemorySpace::Host) {
    return {maker<OptimizerOptions>(name, dropout, space, std::move(wrap)),
            std::move(Clients(name, {}, dropout, space).global)};
}
RowsUnderTest many(std::string_view name, Wrap wrap, bool dropout = false, MemorySpace space = MemorySpace::Host) {
    return {maker<SgdOptions>(name, dropout, space, std::move(wrap)), one(name, eager, dropout, space)};
}

constexpr std::string_view kWithDropout[] = {"mnist_cnn", "cnn_m"};

void steps_conform(const Wrap& wrap, MemorySpace space) {
    for (const std::string name : kTrainedModels) {
        CAPTURE(name);
        conformance::training_step_conforms(one(name, wrap, false, space));
    }
    for (const std::string_view name : kWithDropout) {
        CAPTURE(name);
        conformance::dropout_follows_the_clients_seed(one(name, wrap, true, space));
    }
}

void check_rows(const Wrap& wrap, MemorySpace space) {
    for (const std::string name : kTrainedModels) {
        CAPTURE(name);
        conformance::rows_conform(many(name, wrap, false, space));
    }
    for (const std::string_view name : kWithDropout) {
        CAPTURE(name);
        conformance::rows_draw_their_own_dropout(many(name, wrap, true, space));
    }
}

}  // namespace

TEST_SUITE("StepsConform") {
    TEST_CASE("LibtorchStepsConform") { steps_conform(eager, MemorySpace::Host); }
    TEST_CASE("SupervisedStepsConform") { conformance::training_step_conforms(one("mlp", supervised)); }
    TEST_CASE("Gpu: LibtorchStepsConform") {
        if (const std::string reason = no_training_on_gpu(); !reason.empty()) FEDHIVE_SKIP(reason);
        steps_conform(eager, MemorySpace::Cuda);
    }
    TEST_CASE("Gpu: RecordedStepsConform") {
        if (const std::string reason = no_training_on_gpu(); !reason.empty()) FEDHIVE_SKIP(reason);
        steps_conform(recorded, MemorySpace::Cuda);
    }

    TEST_CASE("BatchedStepsConform") { check_rows(eager_rows, MemorySpace::Host); }
    TEST_CASE("PaddedStepsConform") { check_rows(padded_rows, MemorySpace::Host); }
    TEST_CASE("SupervisedBatchedStepsConform") { conformance::rows_conform(many("mlp", supervised_rows)); }
    TEST_CASE("Gpu: BatchedStepsConform") {
        if (const std::string reason = no_training_on_gpu(); !reason.empty()) FEDHIVE_SKIP(reason);
        check_rows(eager_rows, MemorySpace::Cuda);
    }
    TEST_CASE("Gpu: RecordedBatchedStepsConform") {
        if (const std::string reason = no_training_on_gpu(); !reason.empty()) FEDHIVE_SKIP(reason);
        check_rows(recorded_rows, MemorySpace::Cuda);
    }
}
