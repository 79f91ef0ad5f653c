// A worker's side of a corrupted control block. Input: the segment's length in 256ths (0: all), then edits of a valid block
// with tasks on its board: part, offset in it (two bytes, big-endian, modulo its length), number of bytes, bytes.
#include "aggregation/base/error.h"
#include "aggregation/memory/host_arena.h"
#include "clients/data/partitions/schemes.h"
#include "clients/worker/task_runner.h"
#include "tests/fleet/toy_trainer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

#include <algorithm>
#include <array>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

constexpr ControlGeometry kGeometry{.num_workers = 2,
                                    .max_tasks = 7,
                                    .max_members = 6,
                                    .max_terms = 2,
                                    .max_groups = 6,
                                    .num_evaluated = 3,
                                    .num_sums = 4,
                                    .num_client_sums = 4};
constexpr std::size_t kTasksARun = 10;  // more than the board has
constexpr int kStepsATask = 4;

Dataset tiny_dataset() {
    const auto part = [](std::size_t count) {
        return Examples{{1, 1, 2}, std::vector<std::uint8_t>(2 * count, 7), std::vector<std::int32_t>(count, 1)};
    };
    return {part(12), part(5), 2};
}

/// State of a worker besides the control block.
struct Process {
    SharedDataset dataset = SharedDataset::create(tiny_dataset(), hold_out(partition_contiguous(12, 3), 0.25, 1));
    aggregation::HostArena arena{{.num_floats = 16, .num_slots = 2, .num_aggregates = 1}};
    const WorkerPlan plan = [] {
        WorkerPlan result;
        result.training = {.seed = 1, .local_epochs = 1, .batch_size = 2, .max_update_norm = 1000.0};
        return result;
    }();
    testing::ToyTrainer trainer{16};
};

/// A block as the coordinator leaves it, with tasks for one client in a slot, several clients with one left out, a chunk of the
/// evaluation, ranges of aggregates of updates and of groups, and an evaluation of clients on held-out examples.
class GoodBlock {
public:
    GoodBlock() : block_(ControlBlock::create(kGeometry)) {
        publish({.kind = TaskKind::Train, .slot = 0, .first = 0, .count = 1, .deadline_s = 1.0});
        publish({.kind = TaskKind::Train, .round = 1, .global_index = 1, .slot = 1, .first = 1, .count = 3, .deadline_s = 1.0});
        publish({.kind = TaskKind::Evaluate, .first = 1, .count = 4, .deadline_s = 1.0});
        publish({.kind = TaskKind::Aggregate, .first = 4, .count = 8, .rule = aggregation::ColumnRule::Mean, .num_terms = 2});
        publish({.kind = TaskKind::Aggregate,
                 .first = 0,
                 .count = 16,
                 .rule = aggregation::ColumnRule::Median,
                 .num_terms = 2,
                 .num_groups = 2});
        publish({.kind = TaskKind::EvaluateClients, .first = 1, .count = 2, .deadline_s = 1.0});
        publish({.kind = TaskKind::EvaluatePersonalized, .first = 0, .count = 1, .deadline_s = 1.0});
        for (std::uint32_t i = 0; i < kGeometry.num_evaluated; ++i) block_.evaluated()[i] = i;
        block_.terms()[0] = {.slot = 1, .position = 0};
        block_.terms()[1] = {.slot = 0, .position = 1};
        const std::array<std::uint32_t, 5> groups{1, 0, 2, 0, 1};
        std::copy(groups.begin(), groups.end(), block_.groups().begin());
        for (std::uint32_t i = 0; i < kGeometry.max_members; ++i) block_.members()[i].client_id = i % 3;
        block_.members()[2].left_out = 1;
    }

    std::string_view bytes() const {
        const std::size_t end =
            offset_of(block_.client_sums(kGeometry.num_evaluated - 1).data()) + kGeometry.num_client_sums * sizeof(double);
        return {base(), (end + 63) / 64 * 64};  // the block's parts begin at multiples of 64
    }

    /// The bell that a worker rings. It is excluded from edits: the C library aborts if its internals are corrupted.
    std::string_view bell() const {
        return bytes().substr(offset_of(&block_.header().coordinator_bell), sizeof block_.header().coordinator_bell);
    }

    /// Offsets of the parts; the last is the end.
    std::array<std::size_t, 8> parts() const {
        return {0,
                sizeof(std::uint64_t) + sizeof(ControlGeometry),  // after the magic and the geometry
                sizeof(ControlBlock::Header),
                offset_of(&block_.worker(0)),
                offset_of(&block_.task(0)),
                offset_of(block_.members().data()),
                offset_of(block_.terms().data()),
                bytes().size()};
    }

private:
    const char* base() const { return reinterpret_cast<const char*>(&block_.header()); }
    std::size_t offset_of(const void* where) const {
        return static_cast<std::size_t>(static_cast<const char*>(where) - base());
    }

    void publish(const Task& task) {
        const std::uint32_t index = block_.header().num_tasks.fetch_add(1);
        block_.task(index).task = task;
        block_.task(index).state.store(TaskState{1, 0, TaskPhase::Ready}.pack());
        block_.queue()[index].store(index);
        block_.header().queued.store(index + 1);
    }

    ControlBlock block_;
};

/// The valid block after the input's edits.
std::string edited(const GoodBlock& good, std::string_view input) {
    std::string bytes(good.bytes());
    const auto parts = good.parts();
    const auto number = [&](std::size_t i) { return std::size_t{static_cast<std::uint8_t>(input[i])}; };
    const std::size_t length = input.empty() || number(0) == 0 ? bytes.size() : bytes.size() * number(0) / 256;
    input.remove_prefix(std::min<std::size_t>(1, input.size()));
    while (input.size() > 4) {
        const std::size_t part = number(0) % (parts.size() - 1);
        const std::size_t at = parts.at(part) + (number(1) << 8 | number(2)) % (parts.at(part + 1) - parts.at(part));
        const std::string_view edit = input.substr(4, std::min(number(3), bytes.size() - at));
        bytes.replace(at, edit.size(), edit);
        input.remove_prefix(4 + edit.size());
    }
    bytes.replace(static_cast<std::size_t>(good.bell().data() - good.bytes().data()), good.bell().size(), good.bell());
    bytes.resize(length);
    return bytes;
}

struct AnyPlan {
    std::array<std::byte, ControlBlock::kPlanBytes> bytes{};
};

/// As run_worker does, without waiting for the bell.
void work(const ControlBlock& block, Process& process) {
    int steps = 0;
    const auto stopping = [&] { return block.header().shutdown.load() != 0 || ++steps > kStepsATask; };
    block.plan<AnyPlan>();
    TaskRunner runner(block, 1, process.arena, process.dataset, process.plan, process.trainer, stopping, false);
    for (std::size_t i = 0; i < kTasksARun && runner.run_one(); ++i) steps = 0;
    for (std::size_t i = 0; i < block.geometry().num_workers; ++i) block.worker(i).error.get();
    for (std::size_t i = 0; i < block.geometry().max_tasks; ++i) block.task(i).error.get();
}

}  // namespace

FEDHIVE_FUZZ_TARGET(control_block)(const std::uint8_t* data, std::size_t size) {
    static const GoodBlock good;
    static Process process;
    static const fuzz::MemoryFile segment;
    segment.set(edited(good, {reinterpret_cast<const char*>(data), size}));
    try {
        work(ControlBlock::open(segment.descriptor()), process);
    } catch (const std::exception&) {  // a worker reports it and is replaced
        return 0;
    }
    return 0;
}
