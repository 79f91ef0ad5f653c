// FedProx's term around an engine, for tests:  g <- g + mu (w - w_t), as strategy prox adds it.
#pragma once

#include "clients/visit/formula_visit.h"
#include "tests/support/proximal_pass.h"

#include <memory>

namespace fedhive::testing {

/// A visit that begins at `sent`, [P], with that many trained floats.
class Proximal {
public:
    Proximal(float mu, std::size_t trained, aggregation::ConstParamSpan sent) {
        layout_.add("weights", {static_cast<std::int64_t>(trained)});
        clients::MethodText text;
        text.set(proximal_formulas(mu).text());
        visit = std::make_unique<clients::FormulaVisit>(text, aggregation::Memories(), layout_, clients::LocalPart(),
                                                        clients::Reports(), sent.space);
        visit->begin({}, sent, {});
    }

    std::unique_ptr<clients::FormulaVisit> visit;

private:
    aggregation::Layout layout_;
};

/// An engine's steps with the term, or without for a mu of 0.
struct ProximalStep {
    ProximalStep(clients::TrainingStep& engine, float mu, std::size_t trained, aggregation::ConstParamSpan sent)
        : term(mu, trained, sent), step(engine) {
        if (mu != 0.0F) term.visit->add_to(step);
    }

    Proximal term;
    clients::LocalStep step;
};

}  // namespace fedhive::testing
