// One model with the parameters of many clients: [K, P], a row a client. LibTorch's vmap makes of one forward pass over it K passes, each
// with the parameters and the examples of its own row, in a number of operations that does not grow with K.
#pragma once

#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/models/classifier.h"

#include <memory>
#include <vector>

namespace fedhive::clients {

class BatchedModel {
public:
    /// Memory   one buffer of [rows, P] on the device, held for life. What is frozen, [F], all rows share; it must outlive the model.
    BatchedModel(const ModelSpec& spec, std::size_t rows, aggregation::MemorySpace space,
                 aggregation::ConstParamSpan frozen = {});

    const aggregation::Layout& layout() const { return layout_; }
    at::Device device() const { return device_; }
    std::size_t num_rows() const { return num_rows_; }
    aggregation::ParamSpan parameters(std::size_t row) const;  // [P]

    /// The first `rows` rows are those of forward() from now on; makes the model train.
    void use(std::size_t rows);

    /// What a gradient is taken of: for each of the layout's entries, its columns of the rows in use, [rows, shape…].
    const std::vector<at::Tensor>& columns() const { return columns_; }

    /// examples: [rows, B, channels, height, width]; returns logits [rows, B, num_classes]. Dropout draws for each row its own.
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
