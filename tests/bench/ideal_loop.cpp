// The ideal loop: what an expert would write by hand for one workload and nothing more; the denominator of speed figures.
//
// Pinned processes with one thread each, LibTorch eager, examples resident as one tensor shared by all, narrow for batches,
// gradients reset to undefined, SGD in place, the model reset by one copy per client, a running weighted sum, an atomic
// next-client counter, raised allocator thresholds. No shuffling, no evaluation, no logging, no
// repeatability, no fault handling.
//
//   ideal_loop PROCESSES WORKLOAD.json        prints {"round_s": seconds} after every round; docs/speed.md describes the file
//   ideal_loop size WORKLOAD.json             prints how many floats of its model travel
#include "clients/data/formats/idx.h"
#include "tests/bench/ideal_models.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <numeric>

namespace {

using fedhive::bench::Model;
using Seconds = std::chrono::duration<double>;

struct Workload {
    std::string model, data, root;
    std::vector<std::int64_t> shape, examples;
    std::int64_t classes = 0, clients = 0, cohort = 0, rounds = 0, batch_size = 0, local_epochs = 0, vocabulary = 0;
    double lr = 0.0, momentum = 0.0;
    bool dropout = false;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Workload, model, data, root, shape, examples, classes, clients, cohort, rounds,
                                                batch_size, local_epochs, vocabulary, lr, momentum, dropout)

struct Shared {
    pthread_barrier_t barrier{};
    std::atomic<std::int64_t> next{0};
};

/// Pins process `rank` to the rank-th processor that this program may use.
void pin(int rank) {
    cpu_set_t allowed, mine;
    sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_ZERO(&mine);
    for (int cpu = 0, left = rank % CPU_COUNT(&allowed); cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &allowed) && left-- == 0) CPU_SET(cpu, &mine);
    sched_setaffinity(0, sizeof mine, &mine);
}

/// Momentum as in torch.optim.SGD: the first gradient is the first velocity.
void step(Model& model, std::vector<at::Tensor>& velocity, const Workload& work) {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
        at::Tensor& gradient = model.parameters[i].mutable_grad();
        if (work.momentum > 0.0)
            gradient = velocity[i] = velocity[i].defined() ? velocity[i].mul_(work.momentum).add_(gradient) : gradient;
        model.parameters[i].add_(gradient, -work.lr);
        gradient = at::Tensor();
    }
}

/// Trains the client with examples [first, first + num_examples).
void train_client(Model& model, const at::Tensor& x, const at::Tensor& y, std::int64_t first, std::int64_t num_examples,
                  const Workload& work) {
    std::vector<at::Tensor> velocity(model.parameters.size());
    for (std::int64_t epoch = 0; epoch < work.local_epochs; ++epoch) {
        for (std::int64_t start = 0; start < num_examples; start += work.batch_size) {
            const std::int64_t count = std::min(work.batch_size, num_examples - start);
            at::cross_entropy_loss(model.parts.forward(model.tensors, x.narrow(0, first + start, count), work.dropout),
                                   y.narrow(0, first + start, count))
                .backward();
            step(model, velocity, work);
        }
    }
}

struct Resident {
    at::Tensor x, y;                    // [examples, shape] f32, [examples]
    std::vector<std::int64_t> offsets;  // of the clients' first examples
};

/// Reads the first training images, as floats normalised once.
void read_mnist(const Workload& work, Resident& data) {
    const fedhive::clients::Examples train = fedhive::clients::read_idx(work.root).train;
    const std::int64_t count = data.offsets.back();
    if (static_cast<std::int64_t>(train.labels.size()) < count) throw std::runtime_error("too few images in " + work.root);
    data.x = at::from_blob(const_cast<std::uint8_t*>(train.values.data()), data.x.sizes(), at::kByte)
                 .to(at::kFloat)
                 .div_(255.0)
                 .sub_(0.1307)
                 .div_(0.3081);
    data.y = at::from_blob(const_cast<std::int32_t*>(train.labels.data()), {count}, at::kInt).to(at::kLong);
}

Resident load(const Workload& work, bool flat) {
    Resident data;
    data.offsets.resize(work.examples.size() + 1);
    std::partial_sum(work.examples.begin(), work.examples.end(), data.offsets.begin() + 1);
    std::vector<std::int64_t> shape = work.shape;
    if (flat) shape = {c10::multiply_integers(work.shape)};
    shape.insert(shape.begin(), data.offsets.back());
    if (work.data == "mnist") {
        data.x = at::empty(shape);
        read_mnist(work, data);
        return data;
    }
    data.x = work.vocabulary > 0 ? at::randint(work.vocabulary, shape, at::kLong) : at::randn(shape);
    data.y = at::randint(0, work.classes, {data.offsets.back()}, at::kLong);
    return data;
}

/// Trains the clients of a round that this process takes from the shared counter.
void train_clients(Model& model, Shared& shared, const Resident& data, const at::Tensor& server, at::Tensor& sum,
                   std::int64_t round, const Workload& work) {
    const auto client_at = [&](std::int64_t i) { return static_cast<std::size_t>((round * work.cohort + i) % work.clients); };
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < work.cohort; ++i) total += work.examples[client_at(i)];
    sum.zero_();
    for (std::int64_t i = shared.next.fetch_add(1); i < work.cohort; i = shared.next.fetch_add(1)) {
        const std::size_t client = client_at(i);
        model.flat.copy_(server);
        train_client(model, data.x, data.y, data.offsets[client], work.examples[client], work);
        sum.add_(model.flat, static_cast<double>(work.examples[client]) / static_cast<double>(total));
    }
}

void run_process(int rank, Shared& shared, Model& model, const Resident& data, at::Tensor& server, at::Tensor& sums,
                 const Workload& work) {
    pin(rank);
    at::Tensor mine = sums[rank];
    for (std::int64_t round = 0; round < work.rounds; ++round) {
        pthread_barrier_wait(&shared.barrier);
        const auto start = std::chrono::steady_clock::now();
        train_clients(model, shared, data, server, mine, round, work);
        pthread_barrier_wait(&shared.barrier);
        if (rank != 0) continue;
        server.copy_(mine);
        for (std::int64_t other = 1; other < sums.size(0); ++other) server.add_(sums[other]);
        shared.next = 0;
        std::printf("{\"round_s\": %.7f}\n", Seconds(std::chrono::steady_clock::now() - start).count());
        std::fflush(stdout);
    }
}

int run(int processes, const Workload& work) {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 16 << 20);
    at::set_num_threads(1);
    Model model(work.model, work.shape, work.classes, work.vocabulary);
    const Resident data = load(work, model.parts.flat);
    const std::int64_t size = model.flat.size(0);
    const std::size_t bytes = 4096 + static_cast<std::size_t>((1 + processes) * size) * sizeof(float);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto* shared = new (memory) Shared;
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attributes, static_cast<unsigned>(processes));
    auto* floats = reinterpret_cast<float*>(static_cast<char*>(memory) + 4096);
    at::Tensor server = at::from_blob(floats, {size}).copy_(model.flat.detach());
    at::Tensor sums = at::from_blob(floats + size, {processes, size});
    // With one thread LibTorch has started no other thread, so a plain fork is safe.
    int rank = 0;
    for (int other = 1; other < processes && rank == 0; ++other)
        if (fork() == 0) rank = other;
    run_process(rank, *shared, model, data, server, sums, work);
    if (rank != 0) _exit(0);
    int status = 0, failed = 0;
    while (wait(&status) > 0) failed |= status;
    return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const bool asks_size = argc == 3 && std::string(argv[1]) == "size";
    const int processes = argc == 3 ? std::atoi(argv[1]) : 0;
    if (processes < 1 && !asks_size) {
        std::fprintf(stderr, "usage: ideal_loop PROCESSES|size WORKLOAD.json\n");
        return 2;
    }
    try {
        std::ifstream file(argv[2]);
        const auto work = nlohmann::json::parse(file).get<Workload>();
        if (!asks_size) return run(processes, work);
        std::printf("%lld\n",
                    static_cast<long long>(Model(work.model, work.shape, work.classes, work.vocabulary).flat.size(0)));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "ideal_loop: %s: %s\n", argv[2], error.what());
        return 2;
    }
}
