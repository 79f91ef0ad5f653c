// One model with the parameters of K clients: a matrix [K, P] with a row for each client, P the model's floats. LibTorch's vmap turns one
// forward pass into K passes, each with the parameters and examples of its row; the number of operations does not grow with K.
#pragma once

#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/models/classifier.h"

#include <memory>
#include <vector>

namespace fedhive::clients {

class BatchedModel {
public:
    /// frozen: the frozen parameters, which all rows share; must outlive the model.
    /// Memory: one buffer of [rows, P] on the device for the model's lifetime.
    BatchedModel(const ModelSpec& spec, std::size_t rows, aggregation::MemorySpace space,
                 aggregation::ConstParamSpan frozen = {});

    const aggregation::Layout& layout() const { return layout_; }
    at::Device device() const { return device_; }
    std::size_t num_rows() const { return num_rows_; }
    aggregation::ParamSpan parameters(std::size_t row) const;  // [P]

    /// Selects the first `rows` rows for forward() and columns().
    void use(std::size_t rows);

    /// The leaves for autograd: for each of the layout's entries, its columns of the rows in use, [rows, shape…].
    const std::vector<at::Tensor>& columns() const { return columns_; }

    /// examples: [rows, B, channels, height, width]; returns logits [rows, B, num_classes]. Dropout draws differ between rows.
    at::Tensor forward(const at::Tensor& examples);

private:
    at::Device device_;
    std::unique_ptr<Classifier> module_;
    aggregation::Layout layout_;
    std::size_t num_rows_;
    aggregation::ParamBuffer parameters_;
    std::vector<at::Tensor> columns_;
    std::vector<at::Tensor> shared_;  // frozen_beside_trained()
};

}  // namespace fedhive::clients
