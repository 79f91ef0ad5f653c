// CUDA kernels of the direct engine: the bits of the same arithmetic by one thread on the host, for any use of shared memory.
#ifdef FEDHIVE_WITH_CUDA

#include "aggregation/memory/param_buffer.h"
#include "aggregation/memory/pinned_array.h"
#include "clients/direct/device/array.h"
#include "tests/clients/direct/device_run.h"
#include "tests/clients/direct/networks.h"
#include "tests/support/proximal_pass.h"
#include "tests/support/skip.h"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;
using fedhive::testing::DeviceRun;
using fedhive::testing::Floats;
using fedhive::testing::kThread;

namespace {

namespace device = direct::device;

constexpr device::BlockStep kSteps[] = {{0, 8, 1}, {8, 8, 2}, {16, 3, 3}, {4, 8, 4}, {30, 5, 5}};
constexpr std::uint32_t kFirstSteps[] = {0, 3}, kNumSteps[] = {3, 2};  // of two clients

bool has_device() { return aggregation::cuda_versions().devices > 0; }

void enqueue(const char* error) { REQUIRE_MESSAGE(error == nullptr, error); }

Floats download(aggregation::ConstParamSpan from) {
    Floats values(from.size);
    aggregation::copy({values.data(), values.size(), MemorySpace::Host}, from);
    aggregation::synchronize(MemorySpace::Cuda);
    return values;
}

/// A run's network and data in device memory.
struct OnDevice {
    explicit OnDevice(DeviceRun& on_host) : run(on_host), global(run.global.size(), MemorySpace::Cuda) {
        layers.write(run.plan.layers);
        data.write(run.data);
        if (run.numbers.empty())
            labels.write(run.labels);
        else
            numbers.write(run.numbers);
        order.write(run.order);
        const float scale_and_shift[] = {run.one, run.zero};
        normal.write(scale_and_shift);
        aggregation::copy(global, {run.global.data(), run.global.size(), MemorySpace::Host});
    }
    device::kernels::Launch launch(const device::SharedPlacement& placement) const {
        device::kernels::Launch launch;
        launch.network = run.network;
        launch.network.layers = layers.data();
        launch.from = run.from();
        launch.from.values = data.data();
        launch.from.labels = labels.data();
        launch.from.numbers = numbers.data();
        launch.from.order = order.data();
        launch.from.scale = normal.data();
        launch.from.shift = normal.data() + 1;
        launch.group = placement.group;
        launch.shared_bytes = placement.bytes;
        launch.shared_parameters = placement.parameters;
        launch.shared_gradient = placement.gradient;
        launch.shared_velocity = placement.velocity;
        return launch;
    }

    DeviceRun& run;
    device::DeviceArray<device::Layer> layers;
    device::DeviceArray<float> data, normal, numbers;
    device::DeviceArray<std::int32_t> labels;
    device::DeviceArray<std::uint32_t> order;
    aggregation::ParamBuffer global;
};

std::vector<ModelSpec> small_networks() {
    std::vector<ModelSpec> all = fedhive::testing::networks();
    all.push_back(fedhive::testing::small_model("mlp", fedhive::testing::kInput, 5));
    all.push_back(fedhive::testing::batch_norm_networks()[1]);
    for (const std::size_t i : {2U, 7U}) all.push_back(fedhive::testing::sequence_networks()[i]);
    all.push_back(fedhive::testing::low_rank_networks()[3]);
    return all;
}

}  // namespace

TEST_SUITE("DeviceKernels") {
    TEST_CASE("Gpu: WholeClientsHaveTheBitsOfOneThreadWhereverThingsLie") {
        if (!has_device()) FEDHIVE_SKIP("there is no CUDA device");
        for (const ModelSpec& spec : small_networks()) {
            DeviceRun run(spec, 8);
            const OnDevice on(run);
            const auto host_pass =
                           fedhive::testing::proximal_pass(0.25F, {run.global.data(), run.global.size(), MemorySpace::Host}),
                       device_pass = fedhive::testing::proximal_pass(0.25F, on.global);
            const aggregation::formulas::ElementRange all{0, run.network.trainable};
            device::DeviceArray<aggregation::formulas::GradientPass> formula;
            formula.write({&device_pass, 1});
            device::DeviceArray<aggregation::formulas::ElementRange> ranges;
            ranges.write({&all, 1});
            const device::BlockDescent descent{0.05F, 0.5F, 0.125F, true, &host_pass, &all, 1};
            device::BlockDescent on_device = descent;
            on_device.formula = formula.data();
            on_device.ranges = ranges.data();
            const std::size_t stride = run.global.size();
            aggregation::ParamBuffer local(2 * stride, MemorySpace::Cuda), gradient(2 * stride, MemorySpace::Cuda),
                velocity(2 * stride, MemorySpace::Cuda);
            aggregation::PinnedArray<double> losses(MemorySpace::Cuda);
            losses.reserve(2);
            device::DeviceArray<device::BlockStep> steps;
            steps.write(kSteps);
            device::DeviceArray<float> rows;
            device::DeviceArray<device::kernels::Client> clients;
            const device::kernels::Client both[] = {{kFirstSteps[0], kNumSteps[0], &losses[0]},
                                                    {kFirstSteps[1], kNumSteps[1], &losses[1]}};
            clients.write(both);
            // Everything in shared memory; a part of it; only one example.
            const std::uint32_t most = aggregation::cuda_versions().shared_bytes_per_block;
            const std::uint32_t little = 2 * device::least_bytes(run.network),
                                some = little + 16 * (run.network.num_floats / 4 + 1);
            for (const std::uint32_t bytes : {most, std::min(some, most), little / 2}) {
                const device::SharedPlacement placement = device::place(run.network, 8, true, bytes);
                REQUIRE(placement.group >= 1);
                device::kernels::Training training;
                training.global = on.global.span().data;
                training.steps = steps.data();
                training.clients = clients.data();
                training.num_clients = 2;
                training.local = local.span().data;
                training.gradient = gradient.span().data;
                training.velocity = velocity.span().data;
                training.stride = stride;
                training.descent = on_device;
                device::kernels::Launch launch = on.launch(placement);
                launch.rows_stride = device::floats_of_rows(run.network, placement);
                rows.reserve(2 * launch.rows_stride);
                if (!placement.rows) launch.rows = rows.data();
                enqueue(device::kernels::train(launch, training));
                const Floats found = download(local);
                for (const std::size_t client : {0U, 1U}) {
                    const double loss = device::train(kThread, run.network, run.work(), run.from(), run.global.data(),
                                                      kSteps + kFirstSteps[client], kNumSteps[client], descent);
                    CHECK(losses[client] == loss);
                    CHECK(std::equal(run.local.begin(), run.local.end(),
                                     found.begin() + static_cast<std::ptrdiff_t>(client * stride)));
                }
            }
            CHECK(device::place(run.network, 8, true, most).velocity);
            const device::SharedPlacement least = device::place(run.network, 8, true, little / 2);
            CHECK(least.rows != run.network.whole_batches);
            CHECK((!least.rows || !least.parameters));
        }
    }

    TEST_CASE("Gpu: GradientAndEvaluationHaveTheBitsOfOneThread") {
        if (!has_device()) FEDHIVE_SKIP("there is no CUDA device");
        for (const ModelSpec& spec : small_networks()) {
            DeviceRun run(spec, 40);
            const OnDevice on(run);
            device::BlockNetwork rows = run.network;
            rows.num_floats = rows.trainable = 0;
            const auto launch_of = [&](std::uint32_t bytes) {
                device::SharedPlacement placement = device::place(rows, rows.whole_batches ? 8 : 3, false, bytes);
                placement.parameters = placement.gradient = false;
                device::kernels::Launch launch = on.launch(placement);
                launch.rows_stride = device::floats_of_rows(rows, placement);
                return launch;
            };
            const std::uint32_t most = aggregation::cuda_versions().shared_bytes_per_block;
            device::kernels::Launch launch = launch_of(rows.whole_batches ? device::least_bytes(rows) : most);
            CHECK((launch.rows_stride > 0) == rows.whole_batches);
            device::DeviceArray<float> memory;
            memory.reserve(launch.rows_stride);
            launch.rows = memory.data();
            const aggregation::ParamBuffer gradient(run.gradient.size(), MemorySpace::Cuda);
            aggregation::PinnedArray<double> loss(MemorySpace::Cuda);
            loss.reserve(1);
            loss[0] = 1.5;  // accumulated
            enqueue(
                device::kernels::compute_gradient(launch, on.global.span().data, kSteps[1], gradient.span().data, &loss[0]));
            const Floats moved = download(on.global);
            const Floats found = download(gradient);
            const double mean = device::compute_gradient(kThread, run.network, run.work(), run.from(), kSteps[1]);
            CHECK(found == run.gradient);
            CHECK(loss[0] == 1.5 + mean * kSteps[1].size);
            CHECK(moved == run.local);

            aggregation::PinnedArray<device::RowOutcome> outcomes(MemorySpace::Cuda);
            outcomes.reserve(40);
            rows.whole_batches = false;
            enqueue(device::kernels::evaluate(launch_of(most), on.global.span().data, 40, &outcomes[0]));
            aggregation::synchronize(MemorySpace::Cuda);
            device::evaluate(kThread, run.network, run.work(), run.local.data(), run.from(), 0, 40);
            for (std::size_t i = 0; i < 40; ++i) {
                CHECK(outcomes[i].loss == run.outcomes[i].loss);
                const TargetOutcome &one = outcomes[i].outcome, &other = run.outcomes[i].outcome;
                CHECK(one.label == other.label);
                CHECK(one.predicted == other.predicted);
                CHECK(one.ahead == other.ahead);
                CHECK(one.absolute == other.absolute);
            }
        }
    }

    TEST_CASE("Gpu: LaunchThatIsRefusedIsToldAndLeavesNoErrorInTheRuntime") {
        if (!has_device()) FEDHIVE_SKIP("there is no CUDA device");
        device::kernels::Launch launch;
        launch.shared_bytes = 1U << 30;  // more than any device has
        device::kernels::Training training;
        CHECK(device::kernels::train(launch, training) == nullptr);  // no launch for no clients
        training.num_clients = 1;
        for (const device::kernels::CudaError error : {device::kernels::train(launch, training),
                                                       device::kernels::compute_gradient(launch, nullptr, {}, nullptr, nullptr),
                                                       device::kernels::evaluate(launch, nullptr, 1, nullptr)}) {
            REQUIRE(error != nullptr);
            CHECK(std::string(error).size() > 0);
        }
        CHECK(cudaPeekAtLastError() == cudaSuccess);
    }
}

#endif
