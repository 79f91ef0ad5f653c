// Trains whole clients on a GPU, one thread block for each. One launch runs all local steps of many clients, with the batches in the order
// that the host draws (local_batches.h).
#pragma once

#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/data/transforms.h"
#include "clients/engine/device_network.h"
#include "clients/visit/whole_clients.h"

#include <vector>

namespace fedhive::clients {

class DeviceClients final : public WholeClients {
public:
    /// The network and the examples, in device memory, must outlive this object.
    DeviceClients(const DeviceNetwork& network, const ExamplesView& train, const aggregation::SgdOptions& optimizer,
                  std::uint64_t batch);

    std::size_t num_rows() const override { return rows_at_once(stride_, floats_of_rows_); }
    bool rows_share_steps() const override { return false; }
    void begin_formulas(FormulaVisit& formulas) override;
    void train(const LocalTraining& plan, const RoundRate& rate, std::uint32_t round, std::span<const RowClient> clients,
               aggregation::ConstParamSpan global, std::span<ClientResult> results) override;
    aggregation::ParamSpan parameters_of(std::size_t row) override {
        return local_.span().part(row * stride_, network_.num_floats());
    }

private:
    void append(const LocalTraining& plan, std::uint32_t round, const RowClient& client);
    void reserve(std::size_t rows);

    const DeviceNetwork& network_;
    ExamplesView train_;
    aggregation::SgdOptions optimizer_;
    direct::device::SharedPlacement placement_;
    std::size_t stride_, floats_of_rows_, rows_ = 0;
    aggregation::ParamBuffer local_, gradient_,
        velocity_;                               // [rows][stride]; the latter two are empty if kept in shared memory
    direct::device::DeviceArray<float> values_;  // each client's rows of a batch, if not in shared memory
    // A launch's arguments, on the host and on the device.
    std::vector<std::uint32_t> order_, transforms_;
    std::vector<direct::device::BlockStep> steps_;
    std::vector<direct::device::kernels::Client> clients_;
    direct::device::DeviceArray<std::uint32_t> device_order_, device_transforms_;
    direct::device::DeviceArray<direct::device::BlockStep> device_steps_;
    direct::device::DeviceArray<direct::device::kernels::Client> device_clients_;
    direct::device::DeviceArray<aggregation::formulas::GradientPass> formula_;
    direct::device::DeviceArray<aggregation::formulas::ElementRange> formula_ranges_;
    std::uint32_t num_formula_ranges_ = 0;  // 0: no formula
};

}  // namespace fedhive::clients
