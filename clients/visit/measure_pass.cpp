#include "clients/visit/measure_pass.h"

#include "aggregation/math/vector_ops.h"
#include "clients/tasks/measures.h"

#include <algorithm>

namespace fedhive::clients {

EvaluationSums sums_over(Evaluation& evaluation, const ExamplesView& from, std::span<const std::uint32_t> indices,
                         std::uint64_t chunk, const SumsPlan& plan, const std::function<void()>& after_piece,
                         const EvaluatePiece& evaluate) {
    EvaluationSums sums(plan);
    for (std::size_t first = 0; first < indices.size(); first += chunk) {
        const std::span<const std::uint32_t> piece =
            indices.subspan(first, std::min<std::size_t>(chunk, indices.size() - first));
        evaluate ? evaluate(piece, sums) : evaluation.evaluate(from, piece, sums);
        if (after_piece) after_piece();
    }
    return sums;
}

double mean_loss_of_model(Evaluation& evaluation, const MeasureOptions& options, aggregation::ConstParamSpan model,
                          std::span<const std::uint32_t> examples, const std::function<void()>& after_piece) {
    evaluation.begin(model);
    const EvaluationSums sums = sums_over(evaluation, options.train, examples, options.chunk, options.sums, after_piece);
    return mean_loss_of(sums.loss(), sums.counted_examples(examples.size(), options.train.target.width));
}

MeasurePass::MeasurePass(Evaluation& evaluation, TrainingStep& step, const MeasureOptions& options, const Reports& reports)
    : evaluation_(evaluation),
      step_(step),
      options_(options),
      reports_(reports),
      of_outputs_(measures_outputs(reports)),
      gradient_norm_(place_of_gradient_norm(reports)) {}

void MeasurePass::begin(aggregation::ConstParamSpan sent) {
    sent_ = sent;
    evaluates_sent_ = false;
}

void MeasurePass::measure(const MeasuredClient& client, ReportValues& to, const std::function<void()>& after_piece) {
    if (of_outputs_) {
        if (!evaluates_sent_) evaluation_.begin(sent_);
        evaluates_sent_ = true;
        const EvaluationSums sums =
            sums_over(evaluation_, options_.train, client.shard, options_.chunk, options_.sums, after_piece);
        clients::measure(sums, task_catalog().at(options_.sums.task), client.shard.size(), options_.train.target.width,
                         reports_, to);
    }
    if (gradient_norm_) to[*gradient_norm_] = gradient_norm(client);
}

double MeasurePass::gradient_norm(const MeasuredClient& client) {
    if (gradient_.span().size == 0) {
        gradient_ = aggregation::ParamBuffer(sent_.size, sent_.space);
        zeros_ = aggregation::ParamBuffer(sent_.size, sent_.space);
    }
    mean_gradient(step_, options_.training, {}, client.round, client.client_id, client.shard, sent_, gradient_);
    evaluates_sent_ = false;
    return aggregation::write_update(gradient_, gradient_, zeros_).norm;
}

}  // namespace fedhive::clients
