#include "clients/visit/device_clients.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/math/client_optimizer.h"
#include "clients/visit/formula_visit.h"
#include "clients/visit/local_batches.h"

#include <bit>
#include <limits>

namespace fedhive::clients {

using aggregation::MemorySpace;
namespace device = direct::device;

DeviceClients::DeviceClients(const DeviceNetwork& network, const ExamplesView& train, const aggregation::SgdOptions& optimizer,
                             std::uint64_t batch)
    : network_(network),
      train_(train),
      optimizer_(optimizer),
      placement_(network.placement(batch, optimizer.momentum != 0.0F)),
      stride_(network.num_floats()),
      floats_of_rows_(network.floats_of_rows(placement_)) {}

void DeviceClients::reserve(std::size_t rows) {
    if (rows <= rows_) return;
    rows_ = std::bit_ceil(rows);
    aggregation::synchronize(MemorySpace::Cuda);  // what is there may still be read
    local_ = aggregation::ParamBuffer(rows_ * stride_, MemorySpace::Cuda);
    values_.reserve(rows_ * floats_of_rows_);
    if (!placement_.gradient) gradient_ = aggregation::ParamBuffer(rows_ * stride_, MemorySpace::Cuda);
    if (optimizer_.momentum != 0.0F && !placement_.velocity)
        velocity_ = aggregation::ParamBuffer(rows_ * stride_, MemorySpace::Cuda);
}

/// The draws of enqueue_clients(): its shuffles, and a key of its dropout for each step.
void DeviceClients::append(const LocalTraining& plan, std::uint32_t round, const RowClient& client) {
    device::kernels::Client& one = clients_.emplace_back();
    one.first_step = static_cast<std::uint32_t>(steps_.size());
    one.loss_sum = &client.figures->loss_sum;
    LocalBatches batches(plan, round, client.client_id, client.shard);
    for (RowBatch batch = batches.next(); !batch.examples.empty(); batch = batches.next()) {
        const std::uint64_t key = Stream(batches.dropout_seed(), Purpose::Dropout, one.num_steps++).next_u64();
        FEDHIVE_CHECK(floats_of_rows_ == 0 || batch.examples.size() <= placement_.group, "a batch of {}, of at most {}",
                      batch.examples.size(), placement_.group);
        steps_.push_back({static_cast<std::uint32_t>(order_.size()), static_cast<std::uint32_t>(batch.examples.size()), key});
        order_.insert(order_.end(), batch.examples.begin(), batch.examples.end());
        if (train_.augmentation.any())
            append_transforms(train_.augmentation, batch.augmentation_key, batch.examples, transforms_);
        FEDHIVE_CHECK(order_.size() <= std::numeric_limits<std::uint32_t>::max(), "{} examples in one launch", order_.size());
    }
}

void DeviceClients::begin_formulas(FormulaVisit& formulas) {
    const std::optional<aggregation::formulas::GradientPass> pass = formulas.gradient_pass();
    if (!pass) return;
    formula_.write({&*pass, 1});
    formula_ranges_.write(formulas.ranges());
    num_formula_ranges_ = static_cast<std::uint32_t>(formulas.ranges().size());
}

void DeviceClients::train(const LocalTraining& plan, const RoundRate& rate, std::uint32_t round,
                          std::span<const RowClient> clients, aggregation::ConstParamSpan global,
                          std::span<ClientResult> results) {
    FEDHIVE_CHECK(clients.size() <= num_rows(), "{} clients at once, of at most {}", clients.size(), num_rows());
    FEDHIVE_CHECK_EQ(results.size(), clients.size());
    FEDHIVE_CHECK_EQ(global.size, network_.num_floats());
    const std::int64_t start_ns = now_ns();
    reserve(clients.size());
    order_.clear();
    transforms_.clear();
    steps_.clear();
    clients_.clear();
    for (std::size_t row = 0; row < clients.size(); ++row) {
        const std::span<const std::uint32_t> shard = clients[row].shard;
        check_examples(train_, shard);
        append(plan, round, clients[row]);
        clients[row].figures->examples = static_cast<double>(plan.examples_of(shard.size()));
        results[row] = {.steps = plan.steps_of(shard.size()), .start_ns = start_ns};
    }
    device_order_.write(order_);
    if (!transforms_.empty()) device_transforms_.write(transforms_);
    device_steps_.write(steps_);
    device_clients_.write(clients_);
    const aggregation::SgdOptions now = aggregation::at_rate(optimizer_, rate.lr_factor);
    device::kernels::Training training;
    training.global = global.data;
    training.steps = device_steps_.data();
    training.clients = device_clients_.data();
    training.num_clients = static_cast<std::uint32_t>(clients.size());
    training.local = local_.span().data;
    training.gradient = gradient_.span().data;
    training.velocity = velocity_.span().data;
    training.stride = stride_;
    training.descent = {now.lr, now.momentum, now.weight_decay, now.nesterov};
    if (num_formula_ranges_ > 0) {
        training.descent.formula = formula_.data();
        training.descent.ranges = formula_ranges_.data();
        training.descent.num_ranges = num_formula_ranges_;
    }
    aggregation::dispatch(
        MemorySpace::Cuda, [] {},
        [&] {
            return device::kernels::train(
                network_.launch(train_, device_order_.data(), placement_, device_transforms_.data(), values_.data()), training);
        });
}

}  // namespace fedhive::clients
