#include "clients/exported/rehearsal.h"

#include "aggregation/base/error.h"
#include "clients/exported/bounded_memory.h"
#include "clients/exported/graph_network.h"
#include "clients/exported/refusal.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fedhive::clients::exported {

namespace {

class Rehearsal {
public:
    Rehearsal(const Program& program, const DataShape& data)
        : program_(program), data_(data), network_(program, data.example, GraphNetwork::FrozenValues::Loaded) {}

    void train(std::int64_t batch) {
        const at::Tensor scores = scores_of(batch, true);
        if (!scores.requires_grad()) refuse("gives scores that depend on no parameter; remove detach() and no_grad()", kExport);
        if (data_.target.kind == TargetKind::Numbers) {
            scores.square().mean().backward();
        } else {
            const at::Tensor rows = scores.flatten(0, -2);
            at::cross_entropy_loss(rows, at::zeros({rows.size(0)}, at::kLong)).backward();
        }
        const aggregation::Layout layout = layout_of(program_, {Role::Trained, Role::Moved});
        std::size_t place = 0;
        for (const at::Tensor* tensor : network_.tensors()) check(layout.entries()[place++], *tensor);
    }

    void evaluate(std::int64_t batch) {
        const at::NoGradGuard no_grad;
        scores_of(batch, false);
    }

private:
    at::Tensor scores_of(std::int64_t batch, bool training) const {
        const ExampleShape& example = data_.example;
        const auto last_token = static_cast<double>(std::max<std::int64_t>(example.vocabulary, 1) - 1);
        at::Tensor scores =
            network_.forward(at::full({batch, example.channels, example.height, example.width}, last_token), training);
        std::vector<std::int64_t> wanted = data_.answers();
        wanted.insert(wanted.begin(), batch);
        if (!scores.sizes().equals(wanted))
            refuse(fmt::format("gives [{}] for {} examples; expected: [{}], {}", fmt::join(scores.sizes().vec(), ", "), batch,
                               fmt::join(wanted, ", "), what_is_wanted()),
                   fmt::format("self.head = nn.Linear(width, {})", wanted.back()));
        return scores;
    }

    std::string what_is_wanted() const {
        if (data_.target.kind == TargetKind::Numbers) return "the numbers of the data's targets";
        return fmt::format("a score for each of the data's {} classes{}", data_.num_classes,
                           data_.target.kind == TargetKind::ClassEach ? " at each position" : "");
    }

    static void check(const aggregation::LayoutEntry& entry, const at::Tensor& tensor) {
        if (!tensor.sizes().equals(entry.shape))
            refuse(fmt::format("changes the shape of {} in forward", shown(entry.name)), kExport);
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
    DataShape data_;
    GraphNetwork network_;
};

}  // namespace

void rehearse(const Program& program, const DataShape& data, std::uint64_t most_bytes) {
    at::set_num_threads(1);
    const BoundedMemory memory(most_bytes);
    try {
        for (const std::int64_t batch : {2, 1}) {
            Rehearsal rehearsal(program, data);
            rehearsal.train(batch);
            rehearsal.evaluate(batch);
        }
    } catch (const ConfigError&) {
        throw;
    } catch (const c10::OutOfMemoryError&) {
        refuse(fmt::format("needs more than {} bytes for a step with two examples", most_bytes), "a smaller network");
    } catch (const c10::IndexError& error) {
        if (data.example.vocabulary == 0)
            refuse(fmt::format("cannot be computed: {}", error.what_without_backtrace()), kExport);
        refuse(fmt::format("does not support the data's tokens, 0 to {}: {}", data.example.vocabulary - 1,
                           error.what_without_backtrace()),
               fmt::format("nn.Embedding({}, width)", data.example.vocabulary));
    } catch (const c10::Error& error) {
        refuse(fmt::format("cannot be computed: {}", error.what_without_backtrace()), kExport);
    } catch (const std::exception& error) {
        refuse(fmt::format("cannot be computed: {}", error.what()), kExport);
    }
}

}  // namespace fedhive::clients::exported
