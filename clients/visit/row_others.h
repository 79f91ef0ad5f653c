// The outputs of other models that a formula of examples reads (MethodFormulas::also_at), outside of a local step.
#pragma once

#include "aggregation/formulas/method_formulas.h"
#include "aggregation/formulas/row_loss.h"
#include "aggregation/memory/param_span.h"
#include "clients/engine/training_step.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// The model whose parameters are a client's vector w_t, w_0 or a memory. Valid until the next call.
using ModelAt = std::function<aggregation::ConstParamSpan(std::string_view vector)>;

class RowOthers {
public:
    /// Takes the models of `also_at` that `rows` reads, and tells `rows` their indices in answers().
    RowOthers(aggregation::formulas::RowLoss& rows, const std::vector<aggregation::formulas::OtherAnswers>& also_at);

    bool any() const { return !list_.empty(); }

    /// The outputs of each model for the examples, in evaluation mode; valid until the next call. Changes the model of `evaluation`.
    std::span<const aggregation::formulas::RowAnswers> answers(Evaluation& evaluation, const ModelAt& model_at,
                                                               const ExamplesView& from,
                                                               std::span<const std::uint32_t> examples);

private:
    struct Other {
        std::string at;
        ModelAnswers answers{};
    };
    std::vector<Other> list_{};
    std::vector<aggregation::formulas::RowAnswers> given_{};
};

}  // namespace fedhive::clients
