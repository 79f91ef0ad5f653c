// LibTorch's steps, of one client and of many, eager, padded and recorded, against what every step promises.
#include "clients/training/graph_batched_step.h"
#include "clients/training/graph_step.h"
#include "clients/training/supervised_batched_step.h"
#include "clients/training/supervised_step.h"
#include "tests/clients/training/batched_clients.h"
#include "tests/conformance/batched_step_conformance.h"
#include "tests/support/skip.h"

#include <ATen/Context.h>
#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::clients;
using conformance::BatchedStepUnderTest;
using conformance::StepUnderTest;
using fedhive::testing::Clients;
using fedhive::testing::kTrainedModels;
using fedhive::testing::MemorySpace;
using fedhive::testing::OptimizerOptions;

namespace {

constexpr std::size_t kLargestBatch = 16;

/// What is tested, with all that it refers to.
template <typename Step>
struct Held {
    Held(std::string_view name, const OptimizerOptions& optimizer, bool dropout, MemorySpace space)
        : clients(name, optimizer, dropout, space) {}
    Clients clients;
    std::unique_ptr<Step> own;  // over one of the clients' steps
    WorkerCell cell;
};

template <typename Step>
using Wrap = std::function<Step&(Held<Step>&)>;

template <typename Step>
std::function<std::shared_ptr<Step>(const OptimizerOptions&)> maker(std::string_view name, bool dropout, MemorySpace space,
                                                                    Wrap<Step> wrap) {
    return [=](const OptimizerOptions& optimizer) {
        const auto held = std::make_shared<Held<Step>>(name, optimizer, dropout, space);
        return std::shared_ptr<Step>(held, &wrap(*held));
    };
}

using One = Held<TrainingStep>;
using Many = Held<BatchedStep>;

TrainingStep& eager(One& held) { return held.clients.step; }
TrainingStep& recorded(One& held) { return *(held.own = make_graph_step(held.clients.step, kLargestBatch)); }
TrainingStep& supervised(One& held) {
    return *(held.own = std::make_unique<SupervisedStep>(
                 held.clients.step, held.cell, [] { return false; }, false));
}

BatchedStep& eager_rows(Many& held) { return held.clients.batched; }
BatchedStep& padded_rows(Many& held) {
    held.clients.batched.pad(kLargestBatch);
    return held.clients.batched;
}
BatchedStep& recorded_rows(Many& held) { return *(held.own = make_graph_batched_step(held.clients.batched, kLargestBatch)); }
BatchedStep& supervised_rows(Many& held) {
    auto step = std::make_unique<SupervisedBatchedStep>(
        held.clients.batched, held.cell, [] { return false; }, false);
    step->expect(std::vector<InjectedFault>(4), 0, [](std::size_t) {});
    return *(held.own = std::move(step));
}

StepUnderTest one(std::string_view name, Wrap<TrainingStep> wrap, bool dropout = false, MemorySpace space = MemorySpace::Host) {
    return {maker(name, dropout, space, std::move(wrap)), std::move(Clients(name, {}, dropout, space).global)};
}
BatchedStepUnderTest many(std::string_view name, Wrap<BatchedStep> wrap, bool dropout = false,
                          MemorySpace space = MemorySpace::Host) {
    return {maker(name, dropout, space, std::move(wrap)), one(name, eager, dropout, space)};
}

constexpr std::string_view kWithDropout[] = {"mnist_cnn", "cnn_m"};

void steps_conform(const Wrap<TrainingStep>& wrap, MemorySpace space) {
    for (const std::string name : kTrainedModels) {
        CAPTURE(name);
        conformance::training_step_conforms(one(name, wrap, false, space));
    }
    for (const std::string_view name : kWithDropout) {
        CAPTURE(name);
        conformance::dropout_follows_the_clients_seed(one(name, wrap, true, space));
    }
}

void rows_conform(const Wrap<BatchedStep>& wrap, MemorySpace space) {
    for (const std::string name : kTrainedModels) {
        CAPTURE(name);
        conformance::batched_step_conforms(many(name, wrap, false, space));
    }
    for (const std::string_view name : kWithDropout) {
        CAPTURE(name);
        conformance::rows_draw_their_own_dropout(many(name, wrap, true, space));
    }
}

std::string no_training_on_gpu() {
    std::string reason = aggregation::testing::no_gpu_reason();
    if (!reason.empty()) return reason;
    return at::hasCUDA() ? "" : "this LibTorch has no CUDA";
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

    TEST_CASE("BatchedStepsConform") { rows_conform(eager_rows, MemorySpace::Host); }
    TEST_CASE("PaddedStepsConform") { rows_conform(padded_rows, MemorySpace::Host); }
    TEST_CASE("SupervisedBatchedStepsConform") { conformance::batched_step_conforms(many("mlp", supervised_rows)); }
    TEST_CASE("Gpu: BatchedStepsConform") {
        if (const std::string reason = no_training_on_gpu(); !reason.empty()) FEDHIVE_SKIP(reason);
        rows_conform(eager_rows, MemorySpace::Cuda);
    }
    TEST_CASE("Gpu: RecordedBatchedStepsConform") {
        if (const std::string reason = no_training_on_gpu(); !reason.empty()) FEDHIVE_SKIP(reason);
        rows_conform(recorded_rows, MemorySpace::Cuda);
    }
}
