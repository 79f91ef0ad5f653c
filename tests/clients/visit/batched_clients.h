// Clients with shards of unequal size, trained one at a time or at once, on the host or on a GPU.
#pragma once

#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/pinned_array.h"
#include "clients/data/formats/glyphs.h"
#include "clients/data/partitions/schemes.h"
#include "clients/data/shared_dataset.h"
#include "clients/engine/libtorch_step.h"
#include "clients/engine/vmap_step.h"
#include "clients/trainers/engine.h"
#include "clients/visit/local_step.h"
#include "clients/visit/local_training.h"
#include "tests/aggregation/spans.h"
#include "tests/support/proximal.h"
#include "tests/support/small_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace fedhive::testing {

using aggregation::MemorySpace;
using aggregation::OptimizerOptions;
using aggregation::SgdOptions;
using aggregation::testing::Floats;

/// Trains clients at once; afterwards row k of the step holds client k's update.
inline std::vector<clients::ClientResult> train_rows(clients::TrainingStep& step, const clients::LocalTraining& plan,
                                                     const clients::RoundRate& rate, std::uint32_t round,
                                                     std::vector<clients::RowClient> clients,
                                                     aggregation::ConstParamSpan global) {
    aggregation::PinnedArray<clients::ClientFigures> figures(global.space);
    figures.reserve(clients.size());
    for (std::size_t row = 0; row < clients.size(); ++row) clients[row].figures = &figures[row];
    std::vector<clients::ClientResult> results(clients.size());
    clients::enqueue_clients(step, plan, rate, round, clients, global, results);
    for (std::size_t row = 0; row < clients.size(); ++row) {
        const aggregation::ParamSpan local = step.parameters_of(row);
        aggregation::write_update(local, local, global, figures[row].update);
    }
    aggregation::synchronize(global.space);
    for (std::size_t row = 0; row < clients.size(); ++row) clients::finish(results[row], figures[row]);
    clients::deal_out_time(results);
    return results;
}

struct Clients {
    explicit Clients(std::string_view name, const OptimizerOptions& options = SgdOptions{0.05F, 0.0F, 0.0F, false},
                     bool dropout = false, MemorySpace where = MemorySpace::Host)
        : Clients(small_model(name, {1, 28, 28}, 10, dropout), options, where) {}
    explicit Clients(const clients::ModelSpec& model_spec,
                     const OptimizerOptions& options = SgdOptions{0.05F, 0.0F, 0.0F, false},
                     MemorySpace where = MemorySpace::Host)
        : dataset(examples(where, model_spec.input)),
          train(dataset.train(where)),
          spec(model_spec),
          model(spec, where),
          step(model, train, {}, options),
          batched(spec, 8, where, train, {}, of_rows(options)),
          global(first_model(spec, model.layout(), where)) {}

    /// Rows support SGD only.
    static SgdOptions of_rows(const OptimizerOptions& options) {
        const auto* sgd = std::get_if<SgdOptions>(&options);
        return sgd == nullptr ? SgdOptions{} : *sgd;
    }
    static clients::SharedDataset examples(MemorySpace where, const clients::ExampleShape& shape) {
        clients::prepare_libtorch(1);
        clients::Dataset drawn = clients::draw_glyphs(200, 10, 1);
        if (shape.vocabulary > 0) take_as_tokens(drawn.train, shape);
        if (shape.vocabulary > 0) take_as_tokens(drawn.test, shape);
        auto result = clients::SharedDataset::create(drawn, clients::partition_contiguous(200, 4));
        if (where == MemorySpace::Cuda) result.upload(aggregation::cuda_driver());
        return result;
    }
    /// Replaces each example by its first pixels modulo the vocabulary.
    static void take_as_tokens(clients::Examples& part, const clients::ExampleShape& shape) {
        const std::size_t pixels = part.shape.num_values();
        std::vector<std::uint8_t> tokens;
        for (std::size_t i = 0; i < part.size() * shape.num_values(); ++i)
            tokens.push_back(static_cast<std::uint8_t>(
                part.values[i / shape.num_values() * pixels + 300 + i % shape.num_values()] % shape.vocabulary));
        part.values = std::move(tokens);
        part.shape = shape;
    }
    static aggregation::ParamBuffer first_model(const clients::ModelSpec& spec, const aggregation::Layout& layout,
                                                MemorySpace where) {
        Floats first(layout.num_floats(), 0.0F);
        clients::initial_parameters(spec, layout, 3, first);
        return aggregation::testing::upload(first, where);
    }

    /// Client k has sizes[k] consecutive examples.
    std::vector<clients::RowClient> clients(const std::vector<std::size_t>& sizes) {
        indices.resize(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
        std::iota(indices.begin(), indices.end(), 0U);
        std::vector<clients::RowClient> result;
        std::size_t first = 0;
        for (const std::size_t size : sizes) {
            result.push_back({static_cast<std::uint32_t>(10 + result.size()), std::span(indices).subspan(first, size)});
            first += size;
        }
        return result;
    }

    clients::ClientResult alone(const clients::RowClient& client, Floats& update, float mu = 0.0F) {
        const aggregation::ParamBuffer slot(global.span().size, global.span().space);
        ProximalStep local(step, mu, model.layout().num_trainable(), global);
        const auto result = train_client(local.step, plan, {}, round, client.client_id, client.shard, global, slot);
        update = aggregation::testing::download(slot);
        return result;
    }
    std::vector<clients::ClientResult> at_once(std::span<const clients::RowClient> clients, float mu = 0.0F) {
        ProximalStep local(batched, mu, model.layout().num_trainable(), global);
        return train_rows(local.step, plan, {}, round, {clients.begin(), clients.end()}, global);
    }
    Floats update(std::size_t row) { return aggregation::testing::download(batched.parameters_of(row)); }

    clients::SharedDataset dataset;
    clients::ExamplesView train;
    clients::ModelSpec spec;
    clients::FlatModel model;
    clients::LibtorchStep step;
    clients::VmapStep batched;
    aggregation::ParamBuffer global;
    std::vector<std::uint32_t> indices;
    clients::LocalTraining plan{5, 2, 4};
    std::uint32_t round = 7;
};

inline double largest_difference(const Floats& a, const Floats& b) {
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
    return largest;
}

/// The batch size, 4, divides one shard only; one client has a single example.
inline const std::vector<std::size_t> kUnequal{13, 1, 8, 5, 30};

}  // namespace fedhive::testing
