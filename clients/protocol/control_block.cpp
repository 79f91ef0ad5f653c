#include "clients/protocol/control_block.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"
#include "aggregation/memory/shared_segment.h"

#include <cerrno>
#include <new>

namespace fedhive::clients {

namespace {

constexpr std::uint64_t kMagic = 0x66656468'69766539;  // "fedhive9": the last digit is the version of this memory map

constexpr std::size_t kAlignment = 64;

constexpr std::size_t align(std::size_t bytes) { return round_up(bytes, kAlignment); }

/// Whether sizes are below limits that no machine reaches. Keeps Map's arithmetic from overflowing on a damaged header.
bool plausible(const ControlGeometry& geometry) {
    return geometry.num_workers >= 1 && geometry.num_workers <= 1U << 20 && geometry.max_tasks <= 1U << 30 &&
           geometry.num_ranks <= 1U << 24 && geometry.max_terms <= 1U << 30 && geometry.max_groups <= std::uint64_t{1} << 34 &&
           geometry.max_members <= std::uint64_t{1} << 34 && geometry.num_evaluated <= std::uint64_t{1} << 34 &&
           geometry.num_sums <= 1U << 24 && geometry.num_client_sums <= 1U << 24 &&
           geometry.num_losses <= std::uint64_t{1} << 34;
}

}  // namespace

ControlBlock::Map::Map(const ControlGeometry& geometry)
    : plan(align(sizeof(Header))),
      workers(plan + align(kPlanBytes)),
      tasks(workers + geometry.num_workers * sizeof(WorkerCell)),
      queue(tasks + geometry.max_tasks * sizeof(TaskCell)),
      ranks(queue + align(geometry.max_tasks * sizeof(std::uint32_t))),
      members(ranks + geometry.num_ranks * sizeof(RankCell)),
      results(members + align(geometry.max_members * sizeof(Member))),
      evaluated(results + align(geometry.max_members * sizeof(ClientResult))),
      terms(evaluated + align(geometry.num_evaluated * sizeof(std::uint32_t))),
      groups(terms + align(geometry.max_terms * sizeof(Term))),
      sums(groups + align(geometry.max_groups * sizeof(std::uint32_t))),
      client_sums(sums + align(geometry.max_tasks * geometry.num_sums * sizeof(double))),
      losses(client_sums + align(geometry.num_evaluated * geometry.num_client_sums * sizeof(double))),
      total(losses + align(geometry.num_losses * sizeof(double))) {}

void wait_for(boost::interprocess::interprocess_semaphore& bell) {
    for (;;) {
        try {
            bell.wait();
            return;
        } catch (const boost::interprocess::interprocess_exception& error) {
            if (error.get_native_error() != EINTR) throw Fault(std::string("waiting for a bell: ") + error.what());
        }
    }
}

ControlBlock ControlBlock::create(const ControlGeometry& geometry) {
    FEDHIVE_CHECK(plausible(geometry), "{} workers, {} tasks, {} members", geometry.num_workers, geometry.max_tasks,
                  geometry.max_members);
    const Map map(geometry);
    auto segment = std::make_shared<aggregation::SharedSegment>("fedhive-control", map.total);
    ControlBlock block(segment, segment->data(), segment->descriptor(), map);
    auto* header = new (block.base_) Header;
    header->geometry = geometry;
    for (std::size_t i = 0; i < geometry.num_workers; ++i) new (&block.worker(i)) WorkerCell;
    for (std::size_t i = 0; i < geometry.max_tasks; ++i) new (&block.task(i)) TaskCell;
    for (std::atomic<std::uint32_t>& place : block.queue()) new (&place) std::atomic<std::uint32_t>(0);
    for (std::size_t i = 0; i < geometry.num_ranks; ++i) new (&block.ranks()[i]) RankCell;
    header->magic = kMagic;
    return block;
}

ControlBlock ControlBlock::open(int descriptor) {
    auto view = std::make_shared<aggregation::SharedSegmentView>(descriptor, sizeof(Header));
    const Header& header = *reinterpret_cast<const Header*>(view->data());
    if (header.magic != kMagic) throw Fault("the inherited shared memory is not a control block of this version of fedhive");
    if (!plausible(header.geometry) || Map(header.geometry).total > view->size())
        throw Fault("the control block's sizes do not fit its segment");
    return {view, view->data(), descriptor, Map(header.geometry)};
}

ControlBlock::Header& ControlBlock::header() const { return *reinterpret_cast<Header*>(base_); }

const ControlGeometry& ControlBlock::geometry() const { return header().geometry; }

WorkerCell& ControlBlock::worker(std::size_t index) const {
    FEDHIVE_CHECK(index < geometry().num_workers, "worker {} of {}", index, geometry().num_workers);
    return reinterpret_cast<WorkerCell*>(base_ + map_.workers)[index];
}

TaskCell& ControlBlock::task(std::size_t index) const {
    FEDHIVE_CHECK(index < geometry().max_tasks, "task {} of {}", index, geometry().max_tasks);
    return reinterpret_cast<TaskCell*>(base_ + map_.tasks)[index];
}

std::span<std::atomic<std::uint32_t>> ControlBlock::queue() const {
    return {reinterpret_cast<std::atomic<std::uint32_t>*>(base_ + map_.queue), geometry().max_tasks};
}

std::span<RankCell> ControlBlock::ranks() const {
    return {reinterpret_cast<RankCell*>(base_ + map_.ranks), geometry().num_ranks};
}

std::span<Member> ControlBlock::members() const {
    return {reinterpret_cast<Member*>(base_ + map_.members), geometry().max_members};
}

std::span<ClientResult> ControlBlock::results() const {
    return {reinterpret_cast<ClientResult*>(base_ + map_.results), geometry().max_members};
}

std::span<std::uint32_t> ControlBlock::evaluated() const {
    return {reinterpret_cast<std::uint32_t*>(base_ + map_.evaluated), geometry().num_evaluated};
}

std::span<double> ControlBlock::sums(std::size_t task) const {
    FEDHIVE_CHECK(task < geometry().max_tasks, "task {} of {}", task, geometry().max_tasks);
    const std::uint64_t size = geometry().num_sums;
    return {reinterpret_cast<double*>(base_ + map_.sums) + task * size, size};
}

std::span<double> ControlBlock::client_sums(std::size_t evaluated) const {
    FEDHIVE_CHECK(evaluated < geometry().num_evaluated, "client {} of {}", evaluated, geometry().num_evaluated);
    const std::uint64_t size = geometry().num_client_sums;
    return {reinterpret_cast<double*>(base_ + map_.client_sums) + evaluated * size, size};
}

std::span<double> ControlBlock::losses() const {
    return {reinterpret_cast<double*>(base_ + map_.losses), geometry().num_losses};
}

std::span<Term> ControlBlock::terms() const { return {reinterpret_cast<Term*>(base_ + map_.terms), geometry().max_terms}; }

std::span<std::uint32_t> ControlBlock::groups() const {
    return {reinterpret_cast<std::uint32_t*>(base_ + map_.groups), geometry().max_groups};
}

std::byte* ControlBlock::plan_bytes() const { return base_ + map_.plan; }

void ControlBlock::renew_worker(std::size_t index) const { new (&worker(index)) WorkerCell; }

void ControlBlock::shut_down() const {
    header().shutdown.store(1, std::memory_order_release);
    for (std::size_t i = 0; i < geometry().num_workers; ++i) worker(i).door_bell.post();
}

}  // namespace fedhive::clients
