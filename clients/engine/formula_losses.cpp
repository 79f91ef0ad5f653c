#include "clients/engine/formula_losses.h"

#include "aggregation/math/vector_ops.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace fedhive::clients {

namespace {

at::Tensor on_host(const at::Tensor& values) {
    return values.defined() ? values.detach().to(at::kCPU, at::kFloat).contiguous() : at::Tensor();
}

const float* data_of(const at::Tensor& values) { return values.defined() ? values.const_data_ptr<float>() : nullptr; }

FormulaLosses::Answers in_f32(FormulaLosses::Answers answers) {
    answers.logits = answers.logits.to(at::kFloat);
    if (answers.features.defined()) answers.features = answers.features.to(at::kFloat);
    return answers;
}

/// The formula's inputs besides logits and features of the model that trains.
struct Rest {
    OutputLoss* loss = nullptr;
    const std::vector<FormulaLosses::Answers>* others = nullptr;
    at::Tensor labels;  // [B], on the host
    std::int64_t counted = 0;
};

class MeanByFormula : public torch::autograd::Function<MeanByFormula> {
public:
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& logits, const at::Tensor& features,
                              const Rest& rest) {
        const bool reads_features = rest.loss->reads_features();
        const at::Tensor slopes = on_host(logits).clone(), values = on_host(features), moved = at::empty_like(values);
        std::vector<FormulaLosses::Answers> kept;
        std::vector<aggregation::formulas::RowAnswers> others;
        for (const FormulaLosses::Answers& other : *rest.others) {
            kept.push_back({on_host(other.logits), on_host(other.features)});
            others.push_back({data_of(kept.back().logits), data_of(kept.back().features)});
        }
        const auto counted = static_cast<double>(std::max<std::int64_t>(1, rest.counted));
        const double sum = rest.loss->run({.rows = static_cast<std::size_t>(logits.size(0)),
                                           .labels = rest.labels.const_data_ptr<std::int64_t>(),
                                           .logits = slopes.data_ptr<float>(),
                                           .features = reads_features ? data_of(values) : nullptr,
                                           .features_gradient = reads_features ? moved.data_ptr<float>() : nullptr,
                                           .others = others,
                                           .weight = static_cast<float>(1.0 / counted)});
        context->save_for_backward({slopes.to(logits.device()), moved.to(logits.device())});
        return at::full({}, sum / counted, logits.options());
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list of_mean) {
        const torch::autograd::variable_list saved = context->get_saved_variables();
        const at::Tensor& factor = of_mean.front();
        return {saved[0].mul(factor), saved[1].mul(factor), {}};
    }
};

}  // namespace

FormulaLosses::Answers answers_of(const Classifier& model, const at::Tensor& examples, bool features) {
    if (!features) return in_f32({model.forward(examples), {}});
    const std::size_t last = model.num_layers() - 1;  // feature_layer.h
    const at::Tensor values = model.forward_layers(examples, 0, last);
    return in_f32({model.forward_layers(values, last, last + 1), values});
}

FormulaLosses::FormulaLosses(OutputLoss& loss, const ModelSpec& spec, aggregation::MemorySpace space,
                             aggregation::ConstParamSpan frozen)
    : loss_(loss) {
    for (std::size_t i = 0; i < loss.others().size(); ++i) {
        others_.push_back(std::make_unique<FlatModel>(spec, space, frozen));
        others_.back()->module().eval();
    }
}

void FormulaLosses::begin(aggregation::ConstParamSpan global) {
    for (std::size_t i = 0; i < others_.size(); ++i) {
        const aggregation::ConstParamSpan from = loss_.others()[i].model;
        const aggregation::ParamSpan to = others_[i]->parameters();
        if (from.size < to.size) aggregation::copy(to, global);
        aggregation::copy(to.first(from.size), from);
    }
}

FormulaLosses::AllAnswers FormulaLosses::answers(const Classifier& model, const at::Tensor& examples) const {
    AllAnswers all;
    {
        const at::NoGradGuard no_gradient;
        for (std::size_t i = 0; i < others_.size(); ++i)
            all.others.push_back(answers_of(others_[i]->module(), examples, loss_.others()[i].features));
    }
    all.own = answers_of(model, examples, loss_.reads_features());
    return all;
}

MeanLoss FormulaLosses::mean(const AllAnswers& answers, const at::Tensor& targets, TargetShape target) const {
    Rest rest{.loss = &loss_, .others = &answers.others, .labels = targets.to(at::kCPU).contiguous()};
    rest.counted = target.ignores ? rest.labels.ge(0).sum().item<std::int64_t>() : targets.size(0);
    const at::Tensor& logits = answers.own.logits;
    const at::Tensor features = answers.own.features.defined() ? answers.own.features : at::empty({0}, logits.options());
    const at::Tensor mean = MeanByFormula::apply(logits, features, rest);
    if (!target.ignores) return {mean, {}};
    return {mean, at::full({}, static_cast<double>(rest.counted), mean.options())};
}

}  // namespace fedhive::clients
