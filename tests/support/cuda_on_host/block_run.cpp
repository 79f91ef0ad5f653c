#include "tests/support/cuda_on_host/block_run.h"

#include "tests/support/cuda_on_host/stacks.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace cuda_on_host {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStackBytes = std::size_t{128} << 10;
constexpr unsigned kLanes = 32;

/// Memory between two inaccessible pages, for the life of the process.
std::byte* guarded(std::size_t bytes) {
    void* const mapping = mmap(nullptr, bytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    std::byte* const inside = static_cast<std::byte*>(mapping) + kPage;
    if (mprotect(inside, bytes, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    return inside;
}

/// Runs threads one by one until one of them has to wait; then it belongs to that thread.
struct Fibre {
    Place place;
    std::byte* stack = guarded(kStackBytes);
    unsigned thread = 0;
    std::array<std::uint64_t, kLanes> brought = {};  // value of each lane in the last meeting
};

/// Lanes of a warp that wait for each other.
struct Meeting {
    Collective what;
    unsigned mask;
    unsigned arrived = 0;
    std::array<std::uint64_t, kLanes> brings = {};
    std::array<Fibre*, kLanes> waits = {};
};

struct Warp {
    unsigned there = 0;  // lanes that have not ended
    std::vector<Meeting> meetings;
};

struct SharedSite {
    const void* site;
    std::byte* at;
};

/// The current block. It is reused from block to block.
struct BlockRun {
    const std::function<void()>* body = nullptr;
    RandomOrder* random = nullptr;
    unsigned num_threads = 0;
    std::vector<unsigned> order;  // in which threads begin
    std::size_t begun = 0;
    unsigned ended = 0;
    std::vector<std::unique_ptr<Fibre>> fibres;
    std::vector<Fibre*> idle, ready, at_barrier;
    std::vector<Warp> warps;
    Fibre* current = nullptr;
    Place scheduler;
    std::byte* shared = guarded(kUsualSharedBytes);
    std::byte* dynamic = guarded(kMostSharedBytes);
    std::size_t shared_bytes = 0, dynamic_bytes = 0;
    std::vector<SharedSite> sites;
    KernelFailure failure;
};

BlockRun& state() {
    static BlockRun& run = *new BlockRun;
    return run;
}

// Read by signal handlers.
std::atomic<bool> in_kernel = false;
pthread_t kernel_thread;
Describe describe_address = nullptr;
struct sigaction previous_segv = {}, previous_bus = {};

bool runs_here() { return in_kernel && pthread_equal(kernel_thread, pthread_self()) != 0; }

void set_thread(unsigned thread) {
    threadIdx = {thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / blockDim.x / blockDim.y};
}

/// Abandons the kernel: its fibres are discarded without running destructors.
[[noreturn]] void leave_kernel(cudaError_t error, std::string why) {
    BlockRun& run = state();
    run.failure = {error, fmt::format("block ({}, {}, {}), thread ({}, {}, {}): {}", blockIdx.x, blockIdx.y, blockIdx.z,
                                      threadIdx.x, threadIdx.y, threadIdx.z, why)};
    std::string().swap(why);
    leave_for(run.scheduler);
    std::abort();
}

/// Ends each meeting whose lanes have all arrived or ended.
void end_meetings(Warp& warp) {
    BlockRun& run = state();
    for (std::size_t m = 0; m < warp.meetings.size();) {
        Meeting& meeting = warp.meetings[m];
        if (meeting.arrived != (meeting.mask & warp.there)) {
            ++m;
            continue;
        }
        const auto here = [&](unsigned lane) { return (meeting.arrived >> lane & 1U) != 0; };
        for (unsigned lane = 0; lane < kLanes; ++lane)
            if (!here(lane)) meeting.brings[lane] = run.random->next();
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            if (!here(lane)) continue;
            meeting.waits[lane]->brought = meeting.brings;
            run.ready.push_back(meeting.waits[lane]);
        }
        warp.meetings.erase(warp.meetings.begin() + static_cast<std::ptrdiff_t>(m));
    }
}

Meeting& meeting_of(Warp& warp, Collective what, unsigned mask) {
    for (Meeting& meeting : warp.meetings)
        if (meeting.mask == mask && meeting.what == what) return meeting;
    return warp.meetings.emplace_back(Meeting{what, mask});
}

void end_barrier() {
    BlockRun& run = state();
    if (run.at_barrier.empty() || run.at_barrier.size() + run.ended < run.num_threads) return;
    run.ready.insert(run.ready.end(), run.at_barrier.begin(), run.at_barrier.end());
    run.at_barrier.clear();
}

void run_threads() {
    BlockRun& run = state();
    arrive_from(run.scheduler);
    while (run.begun < run.order.size()) {
        const unsigned thread = run.order[run.begun++];
        run.current->thread = thread;
        set_thread(thread);
        (*run.body)();
        ++run.ended;
        Warp& warp = run.warps[thread / kLanes];
        warp.there &= ~(1U << thread % kLanes);
        end_meetings(warp);
        end_barrier();
    }
    run.idle.push_back(run.current);
    leave_for(run.scheduler);
}

Fibre* new_fibre() {
    BlockRun& run = state();
    if (run.idle.empty()) {
        run.fibres.push_back(std::make_unique<Fibre>());
        run.idle.push_back(run.fibres.back().get());
    }
    Fibre* const fibre = run.idle.back();
    run.idle.pop_back();
    begin(fibre->place, fibre->stack, kStackBytes, run_threads);
    return fibre;
}

void go_on_with(Fibre* fibre) {
    BlockRun& run = state();
    run.current = fibre;
    set_thread(fibre->thread);
    go(run.scheduler, fibre->place);
}

void run_block() {
    BlockRun& run = state();
    run.random->shuffle(run.order);
    run.begun = 0;
    run.ended = 0;
    run.sites.clear();
    run.shared_bytes = 0;
    if (run.dynamic_bytes > 0) run.random->fill(dynamic_shared(), run.dynamic_bytes);
    for (std::size_t w = 0; w < run.warps.size(); ++w) {
        const auto lanes = static_cast<unsigned>(run.num_threads - w * kLanes);
        run.warps[w] = {};
        run.warps[w].there = lanes >= kLanes ? ~0U : (1U << lanes) - 1;
    }
    while (run.failure.error == cudaSuccess && run.ended < run.num_threads) {
        const bool may_begin = run.begun < run.order.size();
        if (run.ready.empty() && !may_begin) {
            run.failure = {cudaErrorLaunchFailure,
                           fmt::format("block ({}, {}, {}): its threads wait for others that never come", blockIdx.x,
                                       blockIdx.y, blockIdx.z)};
            return;
        }
        const std::size_t chosen = run.random->below(run.ready.size() + (may_begin ? 1 : 0));
        if (chosen == run.ready.size()) {
            go_on_with(new_fibre());
            continue;
        }
        std::swap(run.ready[chosen], run.ready.back());
        Fibre* const fibre = run.ready.back();
        run.ready.pop_back();
        go_on_with(fibre);
    }
}

void on_signal(int signal, siginfo_t* info, void* /*context*/) {
    std::array<char, 160> where = {};
    const bool of_device = describe_address(info->si_addr, where.data(), where.size());
    if (runs_here()) leave_kernel(cudaErrorIllegalAddress, of_device ? where.data() : "an address that is not the device's");
    if (of_device) std::fprintf(stderr, "cuda_on_host: the host touches device memory: %s\n", where.data());
    // After the return the access is repeated, and the previous handler gets the signal.
    sigaction(signal, signal == SIGSEGV ? &previous_segv : &previous_bus, nullptr);
}

}  // namespace

void watch_signals(Describe describe) {
    describe_address = describe;
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    struct sigaction present = {};
    for (const int signal : {SIGSEGV, SIGBUS}) {
        sigaction(signal, nullptr, &present);
        if ((present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == on_signal) continue;
        (signal == SIGSEGV ? previous_segv : previous_bus) = present;
        sigaction(signal, &action, nullptr);
    }
}

void* static_shared(const void* site, std::size_t bytes, std::size_t alignment) {
    BlockRun& run = state();
    for (const SharedSite& known : run.sites)
        if (known.site == site) return known.at;
    const std::size_t first = (run.shared_bytes + alignment - 1) / alignment * alignment;
    if (first + bytes + run.dynamic_bytes > kUsualSharedBytes)
        leave_kernel(cudaErrorLaunchFailure, fmt::format("more than {} bytes of shared memory", kUsualSharedBytes));
    run.shared_bytes = first + bytes;
    run.sites.push_back({site, run.shared + first});
    run.random->fill(run.shared + first, bytes);
    return run.shared + first;
}

/// Placed directly before the guard page.
void* dynamic_shared() {
    const BlockRun& run = state();
    return run.dynamic + kMostSharedBytes - (run.dynamic_bytes + 15) / 16 * 16;
}

unsigned lane() { return state().current->thread % kLanes; }

const std::uint64_t* meet(Collective what, unsigned mask, std::uint64_t mine) {
    BlockRun& run = state();
    Fibre* const self = run.current;
    Warp& warp = run.warps[self->thread / kLanes];
    if (what == Collective::Block) {
        run.at_barrier.push_back(self);
        end_barrier();
    } else {
        const unsigned own = self->thread % kLanes;
        if ((mask >> own & 1U) == 0) leave_kernel(cudaErrorLaunchFailure, fmt::format("mask {:#x} without its own lane", mask));
        Meeting& meeting = meeting_of(warp, what, mask);
        meeting.arrived |= 1U << own;
        meeting.brings[own] = mine;
        meeting.waits[own] = self;
        end_meetings(warp);
    }
    go(self->place, run.scheduler);
    return self->brought.data();
}

KernelFailure run_kernel(const char* name, const Shape& shape, const std::function<void()>& thread, RandomOrder& random) {
    BlockRun& run = state();
    run.body = &thread;
    run.random = &random;
    run.num_threads = shape.block.x * shape.block.y * shape.block.z;
    run.order.resize(run.num_threads);
    std::iota(run.order.begin(), run.order.end(), 0U);
    run.dynamic_bytes = shape.dynamic_bytes;
    run.warps.resize((run.num_threads + kLanes - 1) / kLanes);
    run.failure = {};
    gridDim = shape.grid;
    blockDim = shape.block;
    kernel_thread = pthread_self();
    in_kernel = true;
    const std::size_t plane = std::size_t{shape.grid.x} * shape.grid.y, blocks = plane * shape.grid.z;
    // Visits all blocks once each, in steps that are coprime with their number.
    const std::size_t start = random.next() % blocks;
    std::size_t step = 1 + random.next() % blocks;
    while (std::gcd(step, blocks) != 1) ++step;
    for (std::size_t i = 0, block = start; i < blocks && run.failure.error == cudaSuccess;
         ++i, block = (block + step) % blocks) {
        blockIdx = {static_cast<unsigned>(block % shape.grid.x), static_cast<unsigned>(block % plane / shape.grid.x),
                    static_cast<unsigned>(block / plane)};
        run_block();
    }
    in_kernel = false;
    if (run.failure.error != cudaSuccess) {
        run.failure.what = fmt::format("{}, {}", name, run.failure.what);
        run.ready.clear();
        run.at_barrier.clear();
        run.idle.clear();
        for (const auto& fibre : run.fibres) run.idle.push_back(fibre.get());
    }
    return std::exchange(run.failure, {});
}

}  // namespace cuda_on_host

/// assert() in a kernel invalidates the context, as on a device; elsewhere it is the C library's.
extern "C" [[noreturn]] void __assert_fail(const char* assertion, const char* file, unsigned line,
                                           const char* function) noexcept {
    if (cuda_on_host::runs_here())
        cuda_on_host::leave_kernel(cudaErrorAssert, fmt::format("{}:{}: assertion `{}` failed", file, line, assertion));
    using Original = void (*)(const char*, const char*, unsigned, const char*);
    reinterpret_cast<Original>(dlsym(RTLD_NEXT, "__assert_fail"))(assertion, file, line, function);
    std::abort();
}
