// Padded steps against steps without idle rows, on the host; batched steps on a GPU against the host's; recorded
// steps against padded ones.
#include "clients/engine/recorded_step.h"

#include "aggregation/base/error.h"
#include "tests/clients/engine/gpu_training.h"
#include "tests/clients/visit/batched_clients.h"
#include "tests/support/skip.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cstring>

using namespace fedhive;
using namespace fedhive::clients;
using namespace fedhive::testing;

namespace {

struct RowsSetting {
    SgdOptions optimizer{0.05F, 0.0F, 0.0F, false};
    float mu = 0.0F;
};

const RowsSetting kSettings[] = {
    {}, {{0.05F, 0.9F, 0.01F, true}, 0.0F}, {{0.05F, 0.0F, 0.1F, false}, 0.5F}, {{0.05F, 0.9F, 0.0F, false}, 0.5F}};

/// Clients that end one after the other, the last first, in the workers' order. Only the last bits may differ.
void check_near(Clients& all, TrainingStep& engine, Clients& expected, float mu) {
    const auto clients = all.clients({30, 13, 8, 5, 1});
    const auto wanted = expected.at_once(clients, mu);
    ProximalStep around(engine, mu, all.model.layout().num_trainable(), all.global);
    LocalStep& step = around.step;
    const auto results = train_rows(step, all.plan, {}, all.round, clients, all.global);
    for (std::size_t k = 0; k < clients.size(); ++k) {
        CAPTURE(k);
        CHECK(results[k].finite == 1);
        CHECK(results[k].train_loss == doctest::Approx(wanted[k].train_loss).epsilon(1e-4));
        const Floats update = aggregation::testing::download(step.parameters_of(k));
        CHECK(largest_difference(update, expected.update(k)) < 1e-3 * wanted[k].update_norm + 1e-6);
    }
}

void add_bits(std::vector<std::uint64_t>& bits, std::span<const ClientResult> results) {
    for (const ClientResult& one : results) {
        CHECK(one.finite == 1);
        bits.push_back(one.update_hash);
        std::uint64_t loss = 0;
        std::memcpy(&loss, &one.train_loss, sizeof loss);
        bits.push_back(loss);
    }
}

/// Updates and losses of groups trained in turn by the same step on a GPU, with different numbers of rows, with and without a
/// proximal term, and the first group again at the end.
std::vector<std::uint64_t> bits_of_groups(bool dropout, const SgdOptions& optimizer, bool graph) {
    Clients all("mnist_cnn", optimizer, dropout, MemorySpace::Cuda);
    std::unique_ptr<TrainingStep> recorded;
    if (graph)
        recorded = make_recorded_step(all.batched, all.plan.batch_size);
    else
        all.batched.fix_places(all.plan.batch_size);
    TrainingStep& engine = graph ? *recorded : static_cast<TrainingStep&>(all.batched);
    const std::vector<std::pair<std::vector<std::size_t>, float>> groups{{kUnequal, 0.0F}, {{9, 4, 2}, 0.0F}, {{9, 4, 2}, 0.5F},
                                                                         {kUnequal, 0.5F}, {{1}, 0.0F},       {kUnequal, 0.0F}};
    std::vector<std::uint64_t> bits;
    for (const auto& [sizes, mu] : groups) {
        testing::ProximalStep around(engine, mu, all.model.layout().num_trainable(), all.global);
        add_bits(bits, train_rows(around.step, all.plan, {}, all.round, all.clients(sizes), all.global));
    }
    const auto first = std::span(bits).first(2 * kUnequal.size()), last = std::span(bits).last(2 * kUnequal.size());
    CHECK(std::equal(first.begin(), first.end(), last.begin()));
    return bits;
}

}  // namespace

TEST_SUITE("PaddedStep") {
    TEST_CASE("PaddedStepsTrainAsOthersButForTheLastBits") {
        for (const std::string name : kTrainedModels) {
            for (const RowsSetting& setting : kSettings) {
                if (&setting != kSettings && name != "mlp") continue;
                CAPTURE(name);
                Clients plain(name, setting.optimizer), padded(name, setting.optimizer);
                padded.batched.fix_places(padded.plan.batch_size);
                check_near(padded, padded.batched, plain, setting.mu);
            }
        }
    }

    TEST_CASE("PaddedRowsBitsDoNotDependOnWhenOthersEnd") {
        Clients all("mnist_cnn", SgdOptions{0.05F, 0.9F, 0.01F, false}, true);  // masks are drawn for the whole shape
        all.batched.fix_places(all.plan.batch_size);
        const auto before = all.at_once(all.clients(kUnequal));
        const auto after = all.at_once(all.clients({13, 7, 2, 30, 1}));  // the first row has the same examples
        CHECK(after[0].update_hash == before[0].update_hash);
        CHECK(after[0].train_loss == before[0].train_loss);
        CHECK(after[1].update_hash != before[1].update_hash);
    }

    TEST_CASE("BatchLargerThanWasSaidIsAFault") {
        Clients all("lr");
        all.batched.fix_places(3);
        CHECK_THROWS_WITH_AS(all.at_once(all.clients({2, 4})), doctest::Contains("a batch of 4 is larger than was said, 3"),
                             Fault);
    }
}

TEST_SUITE("RecordedRows") {
    TEST_CASE("RecordedRowsOfABuildWithoutTrainingOnCudaIsAFault") {
#ifndef FEDHIVE_TORCH_CUDA
        Clients all("lr");
        CHECK_THROWS_WITH_AS(make_recorded_step(all.batched, 4), doctest::Contains("without training on CUDA"), Fault);
#endif
    }

    TEST_CASE("Gpu: BatchedStepsOnTheDeviceAreThoseOfTheHostButForTheLastBits") {
        if (const std::string reason = no_training_on_gpu(); !reason.empty()) FEDHIVE_SKIP(reason);
        for (const std::string name : kTrainedModels) {
            for (const RowsSetting& setting : kSettings) {
                CAPTURE(name);
                Clients host(name, setting.optimizer), device(name, setting.optimizer, false, MemorySpace::Cuda);
                check_near(device, device.batched, host, setting.mu);
            }
        }
    }

    TEST_CASE("Gpu: RecordedBatchedStepsAreTheEagerOnesButForTheLastBits") {
        if (const std::string reason = no_training_on_gpu(); !reason.empty()) FEDHIVE_SKIP(reason);
        for (const std::string name : kTrainedModels) {
            for (const RowsSetting& setting : kSettings) {
                CAPTURE(name);
                Clients eager(name, setting.optimizer, false, MemorySpace::Cuda);
                Clients padded(name, setting.optimizer, false, MemorySpace::Cuda);
                const auto recorded = make_recorded_step(padded.batched, padded.plan.batch_size);
                check_near(padded, *recorded, eager, setting.mu);
            }
        }
    }

    TEST_CASE("Gpu: RecordedBatchedStepsHaveTheBitsOfPaddedOnesInGroupAfterGroup") {
        if (const std::string reason = no_training_on_gpu(); !reason.empty()) FEDHIVE_SKIP(reason);
        for (const bool dropout : {false, true}) {
            CAPTURE(dropout);
            for (const SgdOptions& optimizer : {SgdOptions{0.05F, 0.0F, 0.0F, false}, SgdOptions{0.05F, 0.9F, 0.01F, true}})
                CHECK(bits_of_groups(dropout, optimizer, true) == bits_of_groups(dropout, optimizer, false));
        }
        CHECK(bits_of_groups(true, {0.05F, 0.0F, 0.0F, false}, true) !=
              bits_of_groups(false, {0.05F, 0.0F, 0.0F, false}, true));
    }
}
