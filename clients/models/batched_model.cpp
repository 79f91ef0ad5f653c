#include "clients/models/batched_model.h"

#include "aggregation/base/error.h"

#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>

namespace fedhive::clients {

using aggregation::MemorySpace;

namespace {

/// A vmap scope: while it lives, operations on tensors from batched() are done for all rows.
class Vmap {
public:
    explicit Vmap(std::int64_t rows)
        : level_(at::functorch::initAndPushDynamicLayer(at::functorch::TransformType::Vmap, c10::SymInt(rows),
                                                        at::functorch::RandomnessType::Different)) {}
    ~Vmap() { at::functorch::popDynamicLayerAndDeleteMetadata(); }
    Vmap(const Vmap&) = delete;
    Vmap& operator=(const Vmap&) = delete;

    /// [rows, …] → a batched tensor that looks like […].
    at::Tensor batched(const at::Tensor& tensor) const { return at::functorch::addBatchDim(tensor, 0, level_); }

    /// The inverse: a batched tensor → [rows, …].
    static at::Tensor whole(const at::Tensor& tensor) {
        const auto* batched = at::functorch::maybeGetBatchedImpl(tensor);
        FEDHIVE_CHECK(batched != nullptr, "the model's scores depend on none of its parameters");
        return batched->value().movedim(batched->bdim(), 0);
    }

private:
    std::int64_t level_;
};

}  // namespace

BatchedModel::BatchedModel(const ModelSpec& spec, std::size_t rows, MemorySpace space, aggregation::ConstParamSpan frozen)
    : device_(space == MemorySpace::Host ? at::Device(at::kCPU) : at::Device(at::kCUDA, 0)),
      module_(std::make_unique<Classifier>(spec)),
      layout_(model_layout(spec)),
      num_rows_(rows),
      parameters_(rows * layout_.num_floats(), space) {
    FEDHIVE_CHECK(layout_.num_trainable() == layout_.num_floats(),
                  "a model with buffers, which every row would need of its own");
    FEDHIVE_CHECK_EQ(module_->tensors().size(), layout_.entries().size());
    module_->view_frozen(frozen);
    for (const at::Tensor* place : module_->frozen_beside_trained()) shared_.push_back(*place);
    module_->train();
}

aggregation::ParamSpan BatchedModel::parameters(std::size_t row) const {
    FEDHIVE_CHECK(row < num_rows_, "row {} of {}", row, num_rows_);
    const std::size_t size = layout_.num_floats();
    return {parameters_.span().data + row * size, size, parameters_.span().space};
}

void BatchedModel::use(std::size_t rows) {
    FEDHIVE_CHECK(rows >= 1 && rows <= num_rows_, "{} rows of {}", rows, num_rows_);
    if (!columns_.empty() && columns_.front().size(0) == static_cast<std::int64_t>(rows)) return;
    columns_.clear();
    for (const aggregation::LayoutEntry& entry : layout_.entries()) {
        std::vector<std::int64_t> shape{static_cast<std::int64_t>(rows)};
        shape.insert(shape.end(), entry.shape.begin(), entry.shape.end());
        std::vector<std::int64_t> strides(shape.size(), 1);
        for (std::size_t i = shape.size() - 1; i > 1; --i) strides[i - 1] = strides[i] * shape[i];
        strides[0] = static_cast<std::int64_t>(layout_.num_floats());
        columns_.push_back(at::from_blob(parameters_.span().data + entry.offset, shape, strides,
                                         at::TensorOptions().dtype(at::kFloat).device(device_))
                               .requires_grad_(true));
    }
}

at::Tensor BatchedModel::forward(const at::Tensor& examples) {
    const Vmap vmap(examples.size(0));
    const std::vector<at::Tensor*>& places = module_->tensors();
    for (std::size_t i = 0; i < places.size(); ++i) *places[i] = vmap.batched(columns_[i]);
    // vmap's convolution has no rule for a shared weight with a bias for each row: frozen tensors in layers that also train are
    // expanded to all rows. Layers that are frozen as a whole need nothing: for them, rows are a larger batch.
    for (std::size_t i = 0; i < shared_.size(); ++i) {
        std::vector<std::int64_t> shape = shared_[i].sizes().vec();
        shape.insert(shape.begin(), examples.size(0));
        *module_->frozen_beside_trained()[i] = vmap.batched(shared_[i].unsqueeze(0).expand(shape));
    }
    return Vmap::whole(module_->forward(vmap.batched(examples)));
}

}  // namespace fedhive::clients
