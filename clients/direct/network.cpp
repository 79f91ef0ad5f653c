#include "clients/direct/network.h"

#include "aggregation/base/error.h"
#include "clients/tasks/losses/class_loss.h"
#include "clients/tasks/losses/squared_error.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

/// Examples per group in an images' chain that mixes none: enough to fill the lists of sparse gradients, few enough to stay in the L1 cache.
constexpr std::size_t kGroup = 4;

}  // namespace

Network::Network(const ModelSpec& spec, const Kernels& kernels, aggregation::ConstParamSpan frozen)
    : kernels_(&kernels),
      layout_(model_layout(spec)),
      frozen_(frozen),
      inputs_(static_cast<std::size_t>(spec.input.channels * spec.input.height * spec.input.width)),
      plan_(make_plan(spec, layout_, frozen_layout(spec), kernels)),
      mixes_examples_(plan_.images.mixes_examples()) {
    FEDHIVE_CHECK_EQ(frozen.size, frozen_layout(spec).num_floats());
    std::vector<ParameterRange> fused;
    plan_.features.fused_parameters(fused);
    std::ranges::sort(fused, {}, &ParameterRange::first);  // a file may have tensors in another order than its layers
    fused.push_back({layout_.num_trainable(), 0});
    std::size_t end = 0;
    for (const ParameterRange& range : fused) {
        if (range.first > end) stepped_last_.push_back({end, range.first - end});
        end = range.first + range.size;
    }
}

/// group: the most examples of a group in the images' chain.
void Network::reserve(std::size_t examples, std::size_t group) {
    if (examples <= reserved_ && group <= reserved_group_) return;
    reserved_ = std::max(examples, reserved_);
    reserved_group_ = std::max(group, reserved_group_);
    if (!plan_.images.empty()) plan_.images.reserve(reserved_, reserved_group_);
    plan_.features.reserve(reserved_, reserved_);
    features_gradient_.resize(plan_.images.empty() ? 0 : reserved_ * plan_.features.inputs());
    answers_.resize(reserved_ * outputs());
}

/// Examples of the batch per group in the images' chain.
std::size_t Network::group_of(const Pass& pass, std::size_t examples) const {
    return mixes_examples_ && pass.training ? examples : kGroup;
}

float* Network::forward(const Pass& pass, const Batch& batch) {
    between_ = batch.examples;
    const std::size_t group = group_of(pass, batch.size);
    for (std::size_t first = 0; first < batch.size && !plan_.images.empty(); first += group) {
        const float* x = batch.examples + first * inputs_;
        const float* made = plan_.images.forward(pass, x, {first, std::min(group, batch.size - first)});
        if (first == 0) between_ = made;
    }
    std::copy_n(plan_.features.forward(pass, between_, {0, batch.size}), batch.size * outputs(), answers_.data());
    return answers_.data();
}

/// Returns Σ softmax cross-entropy over the part's counted labels, by one kernel call per run of them. `answers` become the
/// gradient times `weight`, 0 for ignored labels.
double Network::cross_entropy(float* answers, const Batch& part, float weight) const {
    const std::size_t classes = outputs();
    const auto of_run = [&](std::size_t first, std::size_t rows) {
        return kernels_->softmax_loss({.scores = answers + first * classes,
                                       .labels = part.labels + first,
                                       .rows = rows,
                                       .classes = classes,
                                       .weight = weight});
    };
    if (!part.ignores) return of_run(0, part.size);
    double loss = 0.0;
    for (std::size_t first = 0; first < part.size;) {
        if (part.labels[first] == kIgnored) {
            std::fill_n(answers + first * classes, classes, 0.0F);
            ++first;
            continue;
        }
        std::size_t end = first + 1;
        while (end < part.size && part.labels[end] != kIgnored) ++end;
        loss += of_run(first, end - first);
        first = end;
    }
    return loss;
}

/// mean_loss() label by label, by the formula of any loss of classes.
double Network::mean_of_rows(float* answers, const Batch& batch) const {
    const auto classes = static_cast<std::uint32_t>(outputs());
    const auto counts = [&](std::size_t r) { return !batch.ignores || batch.labels[r] != kIgnored; };
    double shares = 0.0;
    for (std::size_t r = 0; r < batch.size; ++r)
        if (counts(r)) shares += static_cast<double>(loss_.share_of(static_cast<std::uint32_t>(batch.labels[r])));
    const double weight = shares > 0.0 ? 1.0 / shares : 0.0;
    double loss = 0.0;
    for (std::size_t r = 0; r < batch.size; ++r) {
        float* row = answers + r * outputs();
        if (counts(r))
            loss += class_loss(row, classes, static_cast<std::uint32_t>(batch.labels[r]), static_cast<float>(weight), loss_);
        else
            std::fill_n(row, outputs(), 0.0F);
    }
    return loss * weight;
}

/// Returns the mean loss over the counted labels; `answers` become its gradient.
double Network::mean_loss(float* answers, const Batch& batch) const {
    if (batch.numbers == nullptr && !loss_.is_plain()) return mean_of_rows(answers, batch);
    const std::size_t counted = std::max<std::size_t>(1, batch.counted);
    const float weight = 1.0F / static_cast<float>(counted);
    double loss = 0.0;
    if (batch.numbers == nullptr)
        loss = cross_entropy(answers, batch, weight);
    else
        for (std::size_t r = 0; r < batch.size; ++r)
            loss += squared_error(answers + r * outputs(), batch.numbers + r * outputs(), static_cast<std::uint32_t>(outputs()),
                                  weight)
                        .squared;
    return loss / static_cast<double>(counted);
}

/// The other model with all its tensors: buffers of the global model where it has none.
const float* Network::whole_model(aggregation::ConstParamSpan other) {
    if (other.size == layout_.num_floats()) return other.data;
    FEDHIVE_CHECK(global_ != nullptr, "the network knows no global model");
    other_model_.assign(global_, global_ + layout_.num_floats());
    std::copy_n(other.data, other.size, other_model_.data());
    return other_model_.data();
}

/// The answers of the formula's other models for the batch.
void Network::look_at_others(const Batch& batch) {
    others_.resize(formula_->others().size());
    for (std::size_t i = 0; i < others_.size(); ++i) {
        const OutputLoss::Other& other = formula_->others()[i];
        const Pass pass{.kernels = kernels_,
                        .parameters = whole_model(other.model),
                        .frozen = frozen_.data,
                        .training = false,
                        .profiler = profiler_};
        plan_.images.begin(pass);
        plan_.features.begin(pass);
        const float* answers = forward(pass, batch);
        if (other.logits) others_[i].logits.assign(answers, answers + batch.size * outputs());
        if (!other.features) continue;
        const float* features = plan_.features.features_of(between_);
        others_[i].features.assign(features, features + batch.size * plan_.features.features());
    }
}

/// mean_loss() by the formula, which also writes moved_features_.
double Network::mean_by_formula(float* answers, const Batch& batch) {
    const std::size_t counted = std::max<std::size_t>(1, batch.counted);
    const bool features = formula_->reads_features();
    moved_features_.resize(features ? batch.size * plan_.features.features() : 0);
    std::vector<aggregation::formulas::RowAnswers> others;
    for (const OtherAnswers& other : others_) others.push_back({other.logits.data(), other.features.data()});
    return formula_->run({.rows = batch.size,
                          .labels = batch.labels,
                          .logits = answers,
                          .features = features ? plan_.features.features_of(between_) : nullptr,
                          .features_gradient = features ? moved_features_.data() : nullptr,
                          .others = others,
                          .weight = 1.0F / static_cast<float>(counted)}) /
           static_cast<double>(counted);
}

/// Adds the part's outcomes to `sums`; `answers` hold no defined values afterwards.
void Network::add_outcomes(float* answers, const Batch& part, EvaluationSums& sums) const {
    const auto size = static_cast<std::uint32_t>(outputs());
    for (std::size_t r = 0; r < part.size; ++r) {
        float* row = answers + r * size;
        if (part.numbers != nullptr) {
            const NumbersError error = squared_error(row, part.numbers + r * size, size, 1.0F);
            sums.add_loss(error.squared);
            sums.add({.absolute = error.absolute});
        } else if (part.ignores && part.labels[r] == kIgnored) {
            sums.add_ignored(1);
        } else {
            sums.add(class_outcome(row, size, static_cast<std::uint32_t>(part.labels[r])));
        }
    }
    if (part.numbers == nullptr) sums.add_loss(cross_entropy(answers, part, 1.0F));
}

double Network::descend(const Descent& descent, float* gradient, const Batch& batch, std::uint64_t dropout_key) {
    const std::size_t trainable = layout_.num_trainable();
    if (descent.from != nullptr)
        std::copy(descent.from + trainable, descent.from + layout_.num_floats(), descent.parameters + trainable);
    const double loss = run(descent.before(), gradient, batch, dropout_key, descent.parameters, &descent);
    const ProfileScope scope({.profiler = profiler_}, nullptr, StepPhase::Optimizer);
    for (const ParameterRange& range : stepped_last_) step(descent, range, gradient + range.first);
    return loss;
}

double Network::run(const float* parameters, float* gradient, const Batch& batch, std::uint64_t dropout_key, float* moved,
                    const Descent* descent) {
    reserve(batch.size, mixes_examples_ ? batch.size : kGroup);
    const Pass pass{.kernels = kernels_,
                    .parameters = parameters,
                    .frozen = frozen_.data,
                    .gradient = gradient,
                    .moved = moved,
                    .training = true,
                    .dropout_key = dropout_key,
                    .descent = descent,
                    .profiler = profiler_};
    const bool by_formula = formula_ != nullptr && formula_->is_on();
    if (by_formula) look_at_others(batch);
    plan_.images.begin(pass);
    plan_.features.begin(pass);
    float* answers = forward(pass, batch);
    const double loss = [&] {
        const ProfileScope scope(pass, nullptr, StepPhase::Loss);
        return by_formula ? mean_by_formula(answers, batch) : mean_loss(answers, batch);
    }();
    const float* at_features = by_formula && formula_->reads_features() ? moved_features_.data() : nullptr;
    plan_.features.begin_backward(pass);
    const bool trains_images = plan_.images.is_trained();
    float* gradient_between = trains_images ? features_gradient_.data() : nullptr;
    plan_.features.backward(pass, between_, answers, gradient_between, {0, batch.size}, at_features);
    if (trains_images) {
        plan_.images.begin_backward(pass);
        const std::size_t group = group_of(pass, batch.size);
        for (std::size_t first = 0; first < batch.size; first += group)
            plan_.images.backward(pass, batch.examples + first * inputs_, gradient_between + first * plan_.features.inputs(),
                                  nullptr, {first, std::min(group, batch.size - first)});
        plan_.images.end_backward(pass);
    }
    plan_.features.end_backward(pass);
    return loss;
}

void Network::evaluate(const float* parameters, const Batch& batch, EvaluationSums& sums, std::size_t at_once) {
    reserve(std::min(at_once, batch.size), kGroup);
    const Pass pass{.kernels = kernels_, .parameters = parameters, .frozen = frozen_.data, .training = false};
    plan_.images.begin(pass);
    plan_.features.begin(pass);
    for (std::size_t first = 0; first < batch.size; first += at_once) {
        Batch part{batch.examples + first * inputs_, nullptr, std::min(at_once, batch.size - first)};
        if (batch.numbers != nullptr)
            part.numbers = batch.numbers + first * outputs();
        else
            part.labels = batch.labels + first;
        part.ignores = batch.ignores;
        add_outcomes(forward(pass, part), part, sums);
    }
}

void Network::answer(const float* parameters, const Batch& batch, std::vector<float>& logits, std::vector<float>* features,
                     std::size_t at_once) {
    reserve(std::min(at_once, batch.size), kGroup);
    const Pass pass{.kernels = kernels_, .parameters = parameters, .frozen = frozen_.data, .training = false};
    plan_.images.begin(pass);
    plan_.features.begin(pass);
    logits.clear();
    if (features != nullptr) features->clear();
    for (std::size_t first = 0; first < batch.size; first += at_once) {
        const Batch part{batch.examples + first * inputs_, nullptr, std::min(at_once, batch.size - first)};
        const float* answers = forward(pass, part);
        logits.insert(logits.end(), answers, answers + part.size * outputs());
        if (features == nullptr) continue;
        const float* values = plan_.features.features_of(between_);
        features->insert(features->end(), values, values + part.size * plan_.features.features());
    }
}

}  // namespace fedhive::clients::direct
