// Overhead of a round: real worker processes, empty tasks.
//
//   round_overhead WORKERS ROUNDS        prints start-up seconds; then minimum, median and 99th percentile of a round in
//                                        microseconds, back to back and (a tenth as many rounds) after pauses of 2 ms
#include "aggregation/base/clock.h"
#include "aggregation/memory/host_arena.h"
#include "clients/data/formats/synthetic.h"
#include "clients/data/partitions/schemes.h"
#include "clients/worker/worker.h"
#include "sim/fleet/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace fedhive;

namespace {

/// Trains nothing, so that only the round itself is measured.
struct NoTrainer final : clients::Trainer {
    struct Step final : clients::OneRowStep<> {
        aggregation::ParamSpan parameters_of(std::size_t) override { return {}; }
        void begin(const clients::ClientStart&) override {}
        aggregation::ParamSpan gradient() override { return {}; }
        aggregation::ParamSpan optimizer_state() override { return {}; }
        void compute_gradients(std::span<const clients::RowBatch>) override {}
        void apply_gradients() override {}
        double loss_of(std::size_t) override { return 0.0; }
    } nothing;
    struct Never final : clients::Evaluation {
        void begin(aggregation::ConstParamSpan) override {}
        void evaluate(const clients::ExamplesView&, std::span<const std::uint32_t>, clients::EvaluationSums&) override {}
    } never;
    clients::TrainingStep& step() override { return nothing; }
    clients::Evaluation& evaluation() override { return never; }
};

std::unique_ptr<clients::Trainer> make_no_trainer(const clients::WorkerPlan&, const clients::SharedDataset&,
                                                  aggregation::ConstParamSpan) {
    return std::make_unique<NoTrainer>();
}

/// Prints one row: rounds with one empty task per worker, `pause_us` apart.
void measure(const char* name, sim::Fleet& fleet, std::uint32_t workers, int rounds, int pause_us) {
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
        const std::int64_t began = now_ns();
        fleet.empty_round(workers);
        times.push_back(seconds_between(began, now_ns()) * 1e6);
    }
    std::sort(times.begin(), times.end());
    fmt::print("{:<30} {} rounds: min {:.1f} us, median {:.1f} us, 99 % {:.1f} us\n", name, rounds, times.front(),
               times[times.size() / 2], times[times.size() * 99 / 100]);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 8 && std::strcmp(argv[1], "worker") == 0)
        return clients::run_worker(std::atoi(argv[3]), static_cast<std::uint32_t>(std::atoi(argv[5])), std::atoi(argv[7]),
                                   make_no_trainer);
    if (argc != 3) {
        fmt::print(stderr, "usage: round_overhead WORKERS ROUNDS\n");
        return 2;
    }
    clients::block_interrupts();
    const std::int64_t start = now_ns();
    sim::FleetOptions options;
    options.workers = static_cast<std::uint32_t>(std::atoi(argv[1]));
    options.mode.in_flight = options.workers;
    const auto dataset = clients::SharedDataset::create(clients::draw_synthetic({100, 10, 2, 4, 1.0}, 1),
                                                        clients::partition_contiguous(100, 10));
    const aggregation::HostArena arena({64, options.workers});
    clients::WorkerPlan plan;
    plan.arena = arena.geometry();
    plan.arena_descriptor = arena.descriptor();
    plan.data_descriptor = dataset.descriptor();
    plan.data = dataset.map();
    sim::Fleet fleet(options, plan, arena, dataset, make_no_trainer);
    fleet.empty_round(options.workers);
    const double start_s = seconds_between(start, now_ns());
    fmt::print("workers {} · start, without a model, {:.3f} s\n", options.workers, start_s);
    measure("back to back, workers awake", fleet, options.workers, std::atoi(argv[2]), 0);
    measure("after a pause, workers asleep", fleet, options.workers, std::atoi(argv[2]) / 10, 2000);
    return 0;
}
