// C++ side of ddp.py: trains replicas and stores their inputs; lists the samples of ranks.
//
// usage: ddp_tool train RANKS FOLDER [MNIST]   task.safetensors: examples, labels, orders by pass and rank, hyperparameters;
//                                              initial.safetensors and ours.safetensors: the model before and after. MNIST: the
//                                              folder of its IDX files; default: glyphs
//        ddp_tool samples FOLDER               samples.safetensors: tensors [ranks, samples per rank] named
//                                              EXAMPLES/RANKS/EPOCH
#include "clients/data/formats/glyphs.h"
#include "clients/data/formats/idx.h"
#include "sim/state/model_file.h"
#include "sim/state/state_file.h"
#include "tests/clients/visit/replicas.h"

#include <fmt/format.h>

using namespace fedhive;
using namespace fedhive::clients;
using namespace fedhive::testing;

namespace {

constexpr std::size_t kExamples = 403;  // not divisible by 2 or 3 ranks; a rank's share is not divisible by the batch
constexpr std::uint32_t kPasses = 2;

template <typename T>
std::string_view bytes_of(std::span<const T> values) {
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

/// [ranks, samples per rank], row by row.
std::vector<std::uint32_t> samples_of(std::size_t num_examples, std::uint32_t epoch, std::uint32_t ranks) {
    std::vector<std::uint32_t> samples;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const auto sample = distributed_sample(num_examples, 1, epoch, {rank, ranks});
        samples.insert(samples.end(), sample.begin(), sample.end());
    }
    return samples;
}

SharedTask task_on(const Dataset& dataset) {
    SharedTask task;
    task.spec = named_model("mnist_cnn", dataset.train.shape, 10, {{"dropout", false}});
    task.train = {dataset.train.shape, std::span(dataset.train.values).first(kExamples * dataset.train.shape.num_values()),
                  std::span(dataset.train.labels).first(kExamples)};
    task.normalization = {{0.1307}, {0.3081}};
    task.optimizer = {0.05F, 0.9F, 0.0001F, false};
    task.plan = {1, 1, 32};
    return task;
}

void write_task(const SharedTask& task, std::uint32_t ranks, const std::filesystem::path& folder) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t pass = 0; pass < kPasses; ++pass) {
        const auto samples = samples_of(kExamples, pass, ranks);
        order.insert(order.end(), samples.begin(), samples.end());
    }
    const std::vector<sim::Tensor> tensors{
        {"order", "U32", {kPasses, ranks, order.size() / kPasses / ranks}, bytes_of(std::span<const std::uint32_t>(order))},
        {"labels", "I32", {kExamples}, bytes_of(task.train.labels)},
        {"examples", "U8", {kExamples, 1, 28, 28}, bytes_of(task.train.values)}};
    sim::write_file(folder / "task.safetensors",
                    sim::encode_state(tensors, {{"lr", fmt::format("{}", task.optimizer.lr)},
                                                {"momentum", fmt::format("{}", task.optimizer.momentum)},
                                                {"weight_decay", fmt::format("{}", task.optimizer.weight_decay)},
                                                {"batch_size", fmt::format("{}", task.plan.batch_size)}}));
}

void train(std::uint32_t ranks, const std::filesystem::path& folder, const Dataset& dataset) {
    const SharedTask task = task_on(dataset);
    const aggregation::Layout layout = model_layout(task.spec);
    std::vector<ReplicaState> states(ranks, first_state(task, layout));
    write_task(task, ranks, folder);
    sim::write_model(folder / "initial.safetensors", {{layout, states[0].model}}, {});
    for (std::uint32_t pass = 0; pass < kPasses; ++pass) states = train_ranks(task, pass, states);
    sim::write_model(folder / "ours.safetensors", {{layout, states[0].model}}, {});
}

void list_samples(const std::filesystem::path& folder) {
    std::map<std::string, std::vector<std::uint32_t>> samples;
    std::vector<sim::Tensor> tensors;
    for (const std::size_t examples : {1U, 2U, 5U, 12U, 13U, 100U, 403U})
        for (const std::uint32_t ranks : {1U, 2U, 3U, 4U, 5U, 7U, 16U})
            for (const std::uint32_t epoch : {0U, 1U}) {
                const std::string name = fmt::format("{}/{}/{}", examples, ranks, epoch);
                const auto& values = samples[name] = samples_of(examples, epoch, ranks);
                tensors.push_back({name, "U32", {ranks, values.size() / ranks}, bytes_of(std::span(values))});
            }
    sim::write_file(folder / "samples.safetensors", sim::encode_state(tensors, {}));
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() < 2) return 2;
    prepare_libtorch(1);
    if (arguments[0] == "samples") list_samples(arguments[1]);
    if (arguments[0] == "train")
        train(static_cast<std::uint32_t>(std::stoul(arguments[1])), arguments.at(2),
              arguments.size() > 3 ? read_idx(arguments[3]) : draw_glyphs(kExamples, 10, 1));
    return 0;
}
