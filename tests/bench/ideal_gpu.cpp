// The ideal loop on a GPU: what an expert would write by hand for one workload and nothing more; the denominator of speed
// figures there. One process, LibTorch, examples resident on the device, parameters and gradients as one flat tensor each, one
// read-back per round. No evaluation, no determinism, no fault handling.
//
//   ideal_gpu eager WORKLOAD.json      launches every operation separately
//   ideal_gpu graph WORKLOAD.json      records a local step once per batch size
//   ideal_gpu aggregation [UPDATES [FLOATS]]   fedhive's mean and median on the device against a device copy; 32 of 100,000,000
//
// Prints one JSON object per line: {"round_s": …} after each round; or {"copy_gb_s": …}, {"mean_of_copy": …},
// {"median_of_copy": …}.
#include "aggregation/math/mean.h"
#include "aggregation/math/median.h"
#include "aggregation/math/vector_ops.h"
#include "clients/engine/libtorch_step.h"
#include "clients/trainers/engine.h"
#include "tests/bench/flat_step.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;

namespace {

const at::Device kDevice(at::kCUDA, 0);

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void print(const char* key, double value) {
    std::printf("{\"%s\": %.6f}\n", key, value);
    std::fflush(stdout);
}

struct Workload {
    explicit Workload(const char* file) {
        const nlohmann::json read = nlohmann::json::parse(std::ifstream(file));
        const auto model = read.at("model").get<std::string>();
        const ExampleShape shape{read.at("shape")[0], read.at("shape")[1], read.at("shape")[2]};
        const bool has_dropout = model == "mnist_cnn" || model == "cnn_m";
        spec = named_model(model, shape, read.at("classes"),
                           has_dropout ? Values{{"dropout", read.at("dropout").get<bool>()}} : Values());
        for (const long size : read.at("examples")) {
            first.push_back(first.back() + size);
        }
        clients = read.at("clients");
        cohort = read.at("cohort");
        rounds = read.at("rounds");
        batch = read.at("batch_size");
        epochs = read.at("local_epochs");
        rate = read.at("lr");
        momentum = read.at("momentum");
    }
    ModelSpec spec;
    std::vector<long> first{0};  // offset of each client's first example
    long clients, cohort, rounds, batch, epochs;
    double rate, momentum;
};

class Loop {
public:
    Loop(const Workload& work, bool recorded)
        : work_(work),
          recorded_(recorded),
          local_(work.spec, MemorySpace::Cuda, work.rate, work.momentum),
          server_(at::zeros_like(local_.parameters())),
          sum_(at::zeros_like(server_)),
          examples_(
              at::randn({work.first.back(), work.spec.input.channels, work.spec.input.height, work.spec.input.width}, kDevice)),
          labels_(
              at::randint(0, work.spec.num_classes, {work.first.back()}, at::TensorOptions().dtype(at::kLong).device(kDevice))),
          rows_(at::zeros({work.batch}, labels_.options())),
          side_(c10::cuda::getStreamFromPool()) {
        std::vector<float> first(static_cast<std::size_t>(server_.numel()));
        initial_parameters(work.spec, local_.layout(), 1, first);
        server_.copy_(at::from_blob(first.data(), {server_.numel()}));
    }

    void round(long index) {
        sum_.zero_();
        long total = 0;
        for (long i = 0; i < work_.cohort; ++i) {
            const auto client = static_cast<std::size_t>((index * work_.cohort + i) % work_.clients);
            const long size = work_.first[client + 1] - work_.first[client];
            local_.begin(server_);
            for (long epoch = 0; epoch < work_.epochs; ++epoch) train(work_.first[client], size);
            sum_.add_(local_.parameters(), static_cast<double>(size));
            total += size;
        }
        const at::Tensor before = index == 0 ? server_.clone() : at::Tensor();
        server_.copy_(sum_).div_(static_cast<double>(total));
        server_[0].item<float>();
        // Guards against timing a loop that does not train.
        if (index == 0 && at::equal(server_, before)) throw Fault("the first round left the model as it was");
    }

private:
    void train(long first, long size) {
        if (recorded_) rows_.copy_(at::arange(first, first + work_.batch, rows_.options()));
        for (long start = 0; start < size; start += work_.batch) {
            const long count = std::min(work_.batch, size - start);
            if (recorded_)
                graph_of(count).replay();
            else
                local_.step(examples_.narrow(0, first + start, count), labels_.narrow(0, first + start, count));
        }
    }

    void step_at_rows(long count) {
        const at::Tensor rows = rows_.narrow(0, 0, count);
        local_.step(examples_.index_select(0, rows), labels_.index_select(0, rows));
        rows_.add_(work_.batch);
    }

    /// The recorded graph for batches of `count`. Recording changes the model once, which does not matter here.
    at::cuda::CUDAGraph& graph_of(long count) {
        auto& graph = graphs_[count];
        if (graph) return *graph;
        const at::Tensor rows = rows_.clone();
        aggregation::synchronize(MemorySpace::Cuda);
        graph = std::make_unique<at::cuda::CUDAGraph>();
        const c10::cuda::CUDAStreamGuard guard(side_);
        for (int i = 0; i < 3; ++i) {
            rows_.copy_(rows);
            step_at_rows(count);
        }
        rows_.copy_(rows);
        aggregation::synchronize(MemorySpace::Cuda);
        graph->capture_begin();
        step_at_rows(count);
        graph->capture_end();
        return *graph;
    }

    const Workload& work_;
    bool recorded_;
    testing::FlatStep local_;
    at::Tensor server_, sum_, examples_, labels_;
    at::Tensor rows_;  // of the next batch
    c10::cuda::CUDAStream side_;
    std::map<long, std::unique_ptr<at::cuda::CUDAGraph>> graphs_;
};

/// Median of several times, after one warm-up.
template <typename Work>
double seconds_of(Work work) {
    std::vector<double> times;
    for (int i = 0; i < 12; ++i) {
        const double start = seconds_now();
        work();
        aggregation::synchronize(MemorySpace::Cuda);
        if (i > 0) times.push_back(seconds_now() - start);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

/// Bandwidth in bytes read and written per second, of the copy and of each rule in turn.
void measure_aggregation(std::size_t count, std::size_t size) {
    std::vector<aggregation::ParamBuffer> updates;
    at::Tensor values = at::randn({static_cast<long>(size)}, kDevice);
    const aggregation::ConstParamSpan drawn(values.data_ptr<float>(), size, MemorySpace::Cuda);
    for (std::size_t k = 0; k < count; ++k) {
        updates.emplace_back(size, MemorySpace::Cuda);
        aggregation::scale(updates.back(), drawn, (k % 2 == 0 ? 1.0 : -1.0) * static_cast<double>(k + 1));
    }
    const auto bytes = static_cast<double>(size * sizeof(float));
    const double copy = 2.0 * bytes / seconds_of([&] { aggregation::copy(updates[0], drawn); });
    print("copy_gb_s", copy / 1e9);
    const auto against_copy = [&](const char* key, aggregation::Aggregator& rule) {
        const double seconds = seconds_of([&] {
            rule.zero_init(size, MemorySpace::Cuda);
            for (std::size_t k = 0; k < count; ++k) rule.aggregate({updates[k], k, 1.0, 1.0, 1});
            rule.finish();
        });
        print(key, static_cast<double>(count + 1) * bytes / seconds / copy);
    };
    against_copy("mean_of_copy", *aggregation::make_mean());
    against_copy("median_of_copy", *aggregation::make_median());
}

int usage() {
    std::fprintf(stderr, "usage: ideal_gpu eager|graph WORKLOAD.json\n       ideal_gpu aggregation [UPDATES [FLOATS]]\n");
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string form = argc > 1 ? argv[1] : "";
    const bool loop = (form == "eager" || form == "graph") && argc == 3;
    if (!loop && (form != "aggregation" || argc > 4)) return usage();
    if (!at::hasCUDA()) {
        std::fprintf(stderr, "ideal_gpu: there is no CUDA device\n");
        return 1;
    }
    try {
        const double start = seconds_now();
        prepare_libtorch(1);
        if (!loop) {
            measure_aggregation(argc > 2 ? std::stoul(argv[2]) : 32, argc > 3 ? std::stoul(argv[3]) : 100'000'000);
            return 0;
        }
        const Workload work(argv[2]);
        Loop ideal(work, form == "graph");
        print("ready_s", seconds_now() - start);
        for (long round = 0; round < work.rounds; ++round) {
            const double round_start = seconds_now();
            ideal.round(round);
            print("round_s", seconds_now() - round_start);
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "ideal_gpu: %s\n", error.what());
        return 1;
    }
}
