#include "sim/fleet/workforce.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>

namespace fedhive::sim {

using clients::FoundFailure;

Workforce::Workforce(const FleetOptions& options, const clients::ControlGeometry& geometry, const clients::WorkerPlan& plan,
                     const aggregation::Arena& arena, const clients::SharedDataset& dataset,
                     clients::TrainerFactory make_trainer, double answer_s)
    : block_(clients::ControlBlock::create(geometry)),
      watcher_([this] { block_.header().coordinator_bell.post(); }, [] { _exit(130); }),
      barrier_(block_, watcher_, answer_s,
               {[this](std::size_t worker) { return pool_->how_ended(worker); },
                [this](std::size_t worker) {
                    if (pool_) pool_->kill(worker);
                }}) {
    block_.set_plan(plan);
    if (options.workers == 0) {
        trainer_ = make_trainer(plan, dataset, arena.frozen());
        runner_ = std::make_unique<clients::TaskRunner>(
            block_, 0, arena, dataset, plan, *trainer_, [this] { return watcher_.interrupt() != 0; }, false);
        return;
    }
    pool_ = std::make_unique<WorkerPool>(options.workers, block_, watcher_, plan, options.logs, options.worker_environment);
    active_.resize(options.workers);
    std::iota(active_.begin(), active_.end(), std::size_t{0});
    num_active_ = active_.size();
}

bool Workforce::is_active(std::size_t worker) const {
    return std::find(active_.begin(), active_.end(), worker) != active_.end();
}

std::vector<FoundFailure> Workforce::wait(std::span<const std::size_t> cells, std::size_t quorum, double grace_s) {
    if (!runner_) return barrier_.wait(cells, quorum, grace_s);
    return barrier_.run_here(
        cells, quorum, [this] { return runner_->run_one(); }, grace_s);
}

void Workforce::replace(std::size_t worker) {
    pool_->replace(worker);
    barrier_.worker_replaced(worker);
}

std::vector<std::size_t> Workforce::end_all() {
    std::vector<std::size_t> cells;
    for (const std::size_t worker : active_)
        if (const auto cell = barrier_.lost(worker) ? std::nullopt : barrier_.recall(worker)) cells.push_back(*cell);
    return cells;
}

void Workforce::replace_all(std::vector<std::pair<std::string, std::string>> environment) {
    pool_->set_environment(std::move(environment));
    for (const std::size_t worker : active_) replace(worker);
}

std::vector<std::size_t> Workforce::end_half() {
    std::vector<std::size_t> cells;
    for (const std::size_t left = (active_.size() + 1) / 2; active_.size() > left;) {
        const auto cell = barrier_.retire(active_.back());
        active_.pop_back();
        num_active_ = active_.size();
        if (cell) cells.push_back(*cell);
    }
    return cells;
}

void Workforce::throw_if_interrupted() const {
    if (watcher_.interrupt() != 0) throw clients::Interrupted(watcher_.interrupt());
}

std::pair<std::size_t, std::size_t> Workforce::busy() const {
    std::size_t busy = 0;
    const std::uint32_t cells = block_.header().num_tasks.load(std::memory_order_relaxed);
    for (std::uint32_t cell = 0; cell < cells; ++cell) {
        const std::uint64_t word = block_.task(cell).state.load(std::memory_order_relaxed);
        if (clients::TaskState::unpack(word).phase == clients::TaskPhase::Claimed) ++busy;
    }
    return {busy, num_active_.load()};
}

}  // namespace fedhive::sim
