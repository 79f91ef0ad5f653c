// The ideal loop: what an expert would write by hand for one workload and nothing more; the denominator of speed figures. Two pinned processes,
// one thread each, LibTorch eager, data resident as one tensor, narrow for batches, gradients reset to undefined, SGD in place, the model
// reset by one copy per client, a running weighted sum, an atomic next-client counter, raised allocator thresholds. No evaluation, no logging,
// no determinism, no fault handling.
//
//   ideal_loop MODEL ROUNDS CLIENTS EXAMPLES_PER_CLIENT COHORT BATCH        prints one line per round: seconds
#include "clients/models/classifier.h"
#include "clients/models/flat_model.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace fedhive::clients;

namespace {

constexpr int kProcesses = 2;
constexpr double kRate = 0.05;

struct Shared {
    pthread_barrier_t barrier;
    std::atomic<long> next{0};
};

struct Workload {
    const char* model;
    long rounds, clients, examples, cohort, batch;
};

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

ModelSpec spec_of(const Workload& work) {
    ModelSpec spec;
    spec.name.set(work.model);
    spec.input = {1, 28, 28};
    spec.num_classes = 10;
    spec.dropout = false;
    return spec;
}

/// One epoch over a client's examples, starting at `first`.
void train_client(Classifier& model, const torch::Tensor& x, const torch::Tensor& y, long first, const Workload& work) {
    auto parameters = model.parameters();
    for (long start = 0; start < work.examples; start += work.batch) {
        const long count = std::min(work.batch, work.examples - start);
        for (auto& parameter : parameters) parameter.mutable_grad() = torch::Tensor();
        torch::nn::functional::cross_entropy(model.forward(x.narrow(0, first + start, count)),
                                             y.narrow(0, first + start, count))
            .backward();
        const torch::NoGradGuard no_grad;
        for (auto& parameter : parameters) parameter.add_(parameter.grad(), -kRate);
    }
}

void run_process(int rank, Shared& shared, float* global, float* sums, std::size_t size, const Workload& work) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(rank, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 16 << 20);
    at::set_num_threads(1);
    torch::manual_seed(1);
    const torch::Tensor x = torch::randn({work.clients * work.examples, 1, 28, 28});
    const torch::Tensor y = torch::randint(0, 10, {work.clients * work.examples}, torch::kInt64);
    const FlatModel model(spec_of(work), fedhive::aggregation::MemorySpace::Host);
    torch::Tensor local = torch::from_blob(model.parameters().data, {static_cast<long>(size)});
    torch::Tensor server = torch::from_blob(global, {static_cast<long>(size)});
    torch::Tensor mine = torch::from_blob(sums + static_cast<std::size_t>(rank) * size, {static_cast<long>(size)});
    if (rank == 0) initial_parameters(spec_of(work), model.layout(), 1, {global, size});

    for (long round = 0; round < work.rounds; ++round) {
        pthread_barrier_wait(&shared.barrier);
        const double start = seconds_now();
        mine.zero_();
        for (long client = shared.next.fetch_add(1); client < work.cohort; client = shared.next.fetch_add(1)) {
            {
                const torch::NoGradGuard no_grad;
                local.copy_(server);
            }
            train_client(model.module(), x, y, (round * work.cohort + client) % work.clients * work.examples, work);
            mine.add_(local, 1.0 / static_cast<double>(work.cohort));
        }
        pthread_barrier_wait(&shared.barrier);
        if (rank == 0) {
            server.copy_(mine).add_(torch::from_blob(sums + size, {static_cast<long>(size)}));
            shared.next = 0;
            std::printf("%.6f\n", seconds_now() - start);
            std::fflush(stdout);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) {
        std::fprintf(stderr, "usage: ideal_loop MODEL ROUNDS CLIENTS EXAMPLES_PER_CLIENT COHORT BATCH\n");
        return 2;
    }
    const Workload work{argv[1],           std::atol(argv[2]), std::atol(argv[3]), std::atol(argv[4]), std::atol(argv[5]),
                        std::atol(argv[6])};
    const std::size_t size = model_layout(spec_of(work)).num_floats();
    const std::size_t bytes = 4096 + (1 + kProcesses) * size * sizeof(float);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto* shared = new (memory) Shared;
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attributes, kProcesses);
    auto* global = reinterpret_cast<float*>(static_cast<char*>(memory) + 4096);
    // No parallel region has run yet, so a plain fork is safe here.
    for (int rank = 0; rank < kProcesses; ++rank) {
        if (fork() == 0) {
            run_process(rank, *shared, global, global + size, size, work);
            _exit(0);
        }
    }
    int status = 0;
    while (wait(&status) > 0) {
    }
    return status == 0 ? 0 : 1;
}
