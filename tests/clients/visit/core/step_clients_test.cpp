// Whole clients by a step of one row and a step of many.
#include "clients/visit/step_clients.h"

#include "aggregation/math/vector_ops.h"

#include <doctest/doctest.h>

#include <vector>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

/// Adds 1 to every parameter of each row.
struct CountedRows final : TrainingStep {
    explicit CountedRows(std::size_t rows) : local(rows, std::vector<float>(2)) {}
    std::size_t num_rows() const override { return local.size(); }
    aggregation::ParamSpan parameters_of(std::size_t row) override { return local[row]; }
    void for_each_piece(const std::function<void(const GradientPiece&)>&) override {}
    void begin(const ClientStart& start) override {
        for (std::vector<float>& row : local) aggregation::copy(row, start.global);
    }
    void compute_gradients(std::span<const RowBatch>) override {}
    void apply_gradients() override {
        for (std::vector<float>& row : local)
            for (float& value : row) value += 1.0F;
    }
    double loss_of(std::size_t) override { return 6.0; }

    std::vector<std::vector<float>> local;
};

struct ClientsBySteps {
    /// The local models, [2] each, of `count` clients of 4 examples in batches of 2.
    std::vector<float> trained(std::size_t count) {
        std::vector<ClientFigures> figures(count);
        std::vector<RowClient> rows;
        for (std::size_t k = 0; k < count; ++k) rows.push_back({static_cast<std::uint32_t>(k), shard, &figures[k]});
        std::vector<ClientResult> results(count);
        clients.train({.seed = 1, .local_epochs = 1, .batch_size = 2}, {}, 0, rows, global, results);
        std::vector<float> all;
        for (std::size_t k = 0; k < count; ++k) {
            CHECK(results[k].steps == 2);
            CHECK(figures[k].loss_sum == 6.0);
            for (const float value : clients.parameters_of(k).host()) all.push_back(value);
        }
        return all;
    }

    std::vector<std::uint32_t> shard{0, 1, 2, 3};
    std::vector<float> global{10.0F, 20.0F};
    CountedRows one{1}, many{4};
    int made = 0;
    StepClients clients{one, 4, [this]() -> TrainingStep& { return ++made, many; }};
};

}  // namespace

TEST_SUITE("StepClients") {
    TEST_CASE("OneClientTakesTheStepOfOneRowAndSeveralTheOther") {
        ClientsBySteps setting;
        CHECK(setting.trained(1) == std::vector<float>{12.0F, 22.0F});
        CHECK(setting.made == 0);
        CHECK(setting.one.local[0][0] == 12.0F);
        setting.one.local[0][0] = 0.0F;
        CHECK(setting.trained(3) == std::vector<float>{12.0F, 22.0F, 12.0F, 22.0F, 12.0F, 22.0F});
        CHECK(setting.made == 1);
        CHECK(setting.one.local[0][0] == 0.0F);
    }

    TEST_CASE("RowsShareStepsWhereThereAreSeveral") {
        ClientsBySteps setting;
        CHECK(setting.clients.num_rows() == 4);
        CHECK(setting.clients.rows_share_steps());
        const StepClients alone(setting.one, 1, {});
        CHECK(alone.num_rows() == 1);
        CHECK_FALSE(alone.rows_share_steps());
    }
}
