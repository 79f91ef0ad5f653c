// Trains whole clients (whole_clients.h) by training steps: one client by a step of one row, several by a step of many rows.
#pragma once

#include "clients/engine/training_step.h"
#include "clients/visit/whole_clients.h"

#include <functional>

namespace fedhive::clients {

class StepClients final : public WholeClients {
public:
    /// at_once: the largest number of clients at once; many_rows returns the step for several, and is first called when there are several.
    /// `one_row` and the result of many_rows must outlive this object.
    StepClients(TrainingStep& one_row, std::size_t at_once, std::function<TrainingStep&()> many_rows)
        : one_row_(one_row), at_once_(at_once), many_rows_(std::move(many_rows)) {}

    std::size_t num_rows() const override { return at_once_; }
    bool rows_share_steps() const override { return at_once_ > 1; }
    void train(const LocalTraining& plan, const RoundRate& rate, std::uint32_t round, std::span<const RowClient> clients,
               aggregation::ConstParamSpan global, std::span<ClientResult> results) override {
        step_ = clients.size() > 1 ? &many_rows_() : &one_row_;
        enqueue_clients(*step_, plan, rate, round, clients, global, results);
    }
    aggregation::ParamSpan parameters_of(std::size_t row) override { return step_->parameters_of(row); }

private:
    TrainingStep& one_row_;
    std::size_t at_once_;
    std::function<TrainingStep&()> many_rows_;
    TrainingStep* step_ = nullptr;  // of the last clients
};

}  // namespace fedhive::clients
