#include "clients/exported/rehearsal.h"

#include "aggregation/base/error.h"
#include "clients/exported/bounded_memory.h"
#include "clients/exported/network.h"
#include "clients/exported/refusal.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/zeros.h>
#include <fmt/ranges.h>

namespace fedhive::clients::exported {

namespace {

class Rehearsal {
public:
    Rehearsal(const Program& program, const ExampleShape& example, std::int64_t num_classes)
        : program_(program), example_(example), num_classes_(num_classes), network_(program, example) {}

    void train(std::int64_t batch) {
        const at::Tensor scores = scores_of(batch, true);
        if (!scores.requires_grad())
            refuse("gives scores that no parameter has a part in; leave detach() and no_grad() out", kExport);
        at::cross_entropy_loss(scores, at::zeros({batch}, at::kLong)).backward();
        const aggregation::Layout layout = layout_of(program_);
        std::size_t place = 0;
        for (const at::Tensor* tensor : network_.tensors()) check(layout.entries()[place++], *tensor);
    }

    void evaluate(std::int64_t batch) {
        const at::NoGradGuard no_grad;
        scores_of(batch, false);
    }

private:
    at::Tensor scores_of(std::int64_t batch, bool training) const {
        const at::Tensor scores =
            network_.forward(at::zeros({batch, example_.channels, example_.height, example_.width}), training);
        if (!scores.sizes().equals({batch, num_classes_}))
            refuse(fmt::format("gives {} for {} examples; wanted: [{}, {}], a score for each of the data's {} classes",
                               fmt::format("[{}]", fmt::join(scores.sizes().vec(), ", ")), batch, batch, num_classes_,
                               num_classes_),
                   fmt::format("self.head = nn.Linear(width, {})", num_classes_));
        return scores;
    }

    static void check(const aggregation::LayoutEntry& entry, const at::Tensor& tensor) {
        if (!tensor.sizes().equals(entry.shape))
            refuse(fmt::format("gives {} another shape in forward", shown(entry.name)), kExport);
        const bool trained = entry.kind == aggregation::TensorKind::Parameter;
        if (!trained && tensor.requires_grad())
            refuse(fmt::format("writes values with a gradient to the buffer {}", shown(entry.name)),
                   "self.buffer.copy_(value.detach())");
        const at::Tensor gradient = trained ? tensor.grad() : at::Tensor();
        if (gradient.defined() && (gradient.layout() != at::kStrided || gradient.scalar_type() != at::kFloat))
            refuse(fmt::format("gives {} a gradient that is sparse or not F32", shown(entry.name)),
                   "nn.Embedding(rows, width, sparse=False)");
    }

    const Program& program_;
    ExampleShape example_;
    std::int64_t num_classes_;
    Network network_;
};

}  // namespace

void rehearse(const Program& program, const ExampleShape& example, std::int64_t num_classes, std::uint64_t most_bytes) {
    at::set_num_threads(1);
    const BoundedMemory memory(most_bytes);
    try {
        for (const std::int64_t batch : {2, 1}) {
            Rehearsal rehearsal(program, example, num_classes);
            rehearsal.train(batch);
            rehearsal.evaluate(batch);
        }
    } catch (const ConfigError&) {
        throw;
    } catch (const c10::OutOfMemoryError&) {
        refuse(fmt::format("needs more than {} bytes for a step on two examples", most_bytes), "a smaller network");
    } catch (const c10::Error& error) {
        refuse(fmt::format("cannot be computed: {}", error.what_without_backtrace()), kExport);
    } catch (const std::exception& error) {
        refuse(fmt::format("cannot be computed: {}", error.what()), kExport);
    }
}

}  // namespace fedhive::clients::exported
