#include "aggregation/server/catalog.h"

namespace fedhive::aggregation {

// Each is defined in a file of this folder.
ServerOptimizerSpec server_sgd();
ServerOptimizerSpec server_momentum();
ServerOptimizerSpec server_adam();
ServerOptimizerSpec server_yogi();
ServerOptimizerSpec server_adagrad();
ServerOptimizerSpec server_dp_ftrl();

const std::vector<ServerOptimizerSpec>& server_optimizer_catalog() {
    static const std::vector<ServerOptimizerSpec> catalog = {
        server_sgd(), server_momentum(), server_adam(), server_yogi(), server_adagrad(), server_dp_ftrl(),
    };
    return catalog;
}

const ServerOptimizerSpec& server_optimizer_spec(const std::string& name) {
    static const ServerOptimizerSpec formula = {.name = "formula", .summary = "the server's formulas of strategy.file"};
    return name == formula.name ? formula : entry_of(server_optimizer_catalog(), name, "server optimiser");
}

formulas::MethodFormulas server_formulas(formulas::MethodFormulas rule, const ServerOptimizerSpec& optimizer,
                                         const Values& values) {
    using formulas::Place;
    const formulas::MethodFormulas steps = optimizer.formulas(values);
    formulas::Lines& lines = rule.lines[Place::Server];
    if (!rule.sets(Place::Server, "let direction")) lines.emplace_back("let direction = u");
    const formulas::Lines& of_optimizer = steps.lines.at(Place::Server);
    lines.insert(lines.end(), of_optimizer.begin(), of_optimizer.end());
    rule.keys.merge(numbers_of(optimizer.keys, values));
    rule.memories.insert(rule.memories.end(), steps.memories.begin(), steps.memories.end());
    return rule;
}

KeySpec averaging_rate() {
    return {.name = "server_lr",
            .default_value = 1.0,
            .range = above(0),
            .doc = "Server rate per round (η_g), typically 1, which is plain averaging; far above 1 it overshoots."};
}

}  // namespace fedhive::aggregation
