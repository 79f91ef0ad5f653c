#include "aggregation/formulas/row_loss.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fedhive::aggregation::formulas {

namespace {

constexpr std::size_t kNoGradient = ~std::size_t{0};

/// to[c][lane] = from[rows[lane]][c]; lanes without a row repeat the last one.
void to_lanes(float* to, const float* from, std::size_t columns, std::span<const std::size_t> rows) {
    std::array<const float*, kRowLanes> sources{};
    for (std::size_t l = 0; l < kRowLanes; ++l) sources[l] = from + rows[std::min(l, rows.size() - 1)] * columns;
    for (std::size_t c = 0; c < columns; ++c, to += kRowLanes)
        for (std::size_t l = 0; l < kRowLanes; ++l) to[l] = sources[l][c];
}

/// to[rows[lane]][c] = weight * from[c][lane].
void from_lanes(float* to, const float* from, std::size_t columns, std::span<const std::size_t> rows, float weight) {
    for (std::size_t l = 0; l < rows.size(); ++l)
        for (std::size_t c = 0; c < columns; ++c) to[rows[l] * columns + c] = weight * from[c * kRowLanes + l];
}

}  // namespace

Formulas with_loss(Formulas answer) {
    const auto add = [&](Opcode op, Shape shape, std::initializer_list<std::size_t> args) {
        Node& node =
            answer.nodes.emplace_back(Node{.op = op, .num_args = static_cast<std::uint8_t>(args.size()), .shape = shape});
        std::ranges::copy(args, node.args.begin());
        return answer.nodes.size() - 1;
    };
    const std::size_t label = add(Opcode::Name, Shape::Row, {});
    answer.nodes.back().name = "y";
    const std::size_t logs = add(Opcode::LogSoftmax, Shape::Classes, {answer.targets.front().node});
    const std::size_t loss = add(Opcode::Negative, Shape::Row, {add(Opcode::Pick, Shape::Row, {logs, label})});
    answer.targets.push_back({.name = "loss", .node = loss, .shape = Shape::Row});
    return answer;
}

RowLoss::RowLoss(Formulas formulas, RowSizes sizes, const RowLoops* loops)
    : formulas_(std::move(formulas)),
      sizes_(sizes),
      loops_(loops != nullptr ? loops : &row_loops()),
      values_(formulas_.nodes.size()),
      numbers_(formulas_.nodes.size()) {
    FEDHIVE_CHECK(!formulas_.targets.empty(), "formulas of examples without a target");
    lay_out();
    plan_calls();
}

/// A name with a value for each class, which is the same for all examples of a visit.
bool RowLoss::is_by_class(const Node& node) const {
    return node.op == Opcode::Name && (is_table(node.shape) || (node.shape == Shape::Classes && node.name != "logits" &&
                                                                node.name.find('.') == std::string::npos));
}

/// Elements of a vector, or of a row of a table.
std::size_t RowLoss::width_of(Shape shape) const {
    if (shape == Shape::Classes || shape == Shape::ClassTable) return sizes_.classes;
    return shape == Shape::Features || shape == Shape::FeatureTable ? sizes_.features : 1;
}

/// Sets when each value is computed, and its place in room_.
void RowLoss::lay_out() {
    std::size_t floats = 0;
    const auto place = [&](std::size_t columns) { return std::exchange(floats, floats + columns * kRowLanes); };
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const Node& node = formulas_.nodes[i];
        Value& value = values_[i];
        value.columns = is_table(node.shape) ? 0 : width_of(node.shape);  // a table has no lanes
        for (const std::size_t arg : node.arguments()) {
            value.when = std::max(value.when, values_[arg].when);
            const bool passes = is_of_batch(node.op) || loops_->backward[index_of(node.op)][0] != nullptr ||
                                loops_->backward[index_of(node.op)][1] != nullptr;
            value.moves = value.moves || (passes && values_[arg].moves);
            value.stage = std::max(value.stage, values_[arg].stage + (is_of_batch(node.op) ? 1 : 0));
        }
        if (is_of_batch(node.op)) value.when = Value::When::Example;
        if (node.op == Opcode::Name && node.shape != Shape::Number) {
            value.when = is_by_class(node) ? Value::When::Visit : Value::When::Example;
            if (is_by_class(node))
                by_class_[node.name].assign((is_table(node.shape) ? sizes_.classes : 1) * width_of(node.shape), 0.0F);
            value.moves = node.name == "logits" || node.name == "z";
            if (node.name == "logits") inputs_.push_back({i, Input::Of::Logits});
            if (node.name == "z") inputs_.push_back({i, Input::Of::Features});
            if (node.name == "y") inputs_.push_back({i, Input::Of::Label});
        }
        value.first = place(value.columns);
    }
    first_gradient_ = floats;
    for (Value& value : values_) value.gradient = value.moves ? place(value.columns) : kNoGradient;
    room_of_group_ = floats;
    room_.assign(floats, 0.0F);
}

/// Room for the values of as many times sixteen examples.
void RowLoss::reserve(std::size_t groups) {
    if (room_.size() >= groups * room_of_group_) return;
    room_.assign(groups * room_of_group_, 0.0F);
    plan_calls();
    is_new_ = true;
}

RowTerms RowLoss::terms_of(std::size_t node) {
    const Node& of = formulas_.nodes[node];
    const auto step = [](const Value& value) { return value.columns > 1 ? kRowLanes : 0; };
    RowTerms terms;
    terms.out = at(node);
    terms.value = terms.out;
    terms.columns = values_[node].columns;
    terms.out_step = step(values_[node]);
    if (values_[node].moves) terms.gradient = room_.data() + values_[node].gradient;
    for (std::size_t i = 0; i < of.num_args; ++i) {
        const Node& arg = formulas_.nodes[of.args[i]];
        terms.operands[i] = is_table(arg.shape) ? by_class_.find(arg.name)->second.data() : at(of.args[i]);
        terms.steps[i] = step(values_[of.args[i]]);
        if (is_table(arg.shape)) terms.width = width_of(arg.shape);
        if (of.op != Opcode::Pick || i == 0) terms.columns = std::max(terms.columns, values_[of.args[i]].columns);
    }
    if (of.op >= Opcode::PickRow && of.op < Opcode::Name) terms.columns = values_[node].columns;
    return terms;
}

void RowLoss::plan_calls() {
    of_visit_.clear();
    stages_.assign(1 + std::ranges::max(values_, {}, &Value::stage).stage, {});
    const auto call_of = [&](RowLoop loop, std::size_t node) {
        Call call{loop, terms_of(node)};
        const auto args = formulas_.nodes[node].arguments();
        for (std::size_t a = 0; a < args.size(); ++a) call.is_table[a] = is_table(formulas_.nodes[args[a]].shape);
        return call;
    };
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const Node& node = formulas_.nodes[i];
        if (values_[i].when == Value::When::Number || node.num_args == 0) continue;
        Stage& stage = stages_[values_[i].stage];
        if (is_of_batch(node.op)) {
            stage.over_batch.push_back(i);
            continue;
        }
        const RowLoop loop = loops_->forward[index_of(node.op)];
        FEDHIVE_CHECK(loop != nullptr, "operation {} of examples", index_of(node.op));
        (values_[i].when == Value::When::Visit ? of_visit_ : stage.forward).push_back(call_of(loop, i));
    }
    for (std::size_t i = values_.size(); i-- > 0;) {
        const Node& node = formulas_.nodes[i];
        if (!values_[i].moves) continue;
        for (std::size_t arg = 0; arg < node.num_args; ++arg) {
            const Value& operand = values_[node.args[arg]];
            const RowLoop loop = loops_->backward[index_of(node.op)][arg];
            if (loop == nullptr || !operand.moves) continue;
            Call call = call_of(loop, i);
            call.terms.to = room_.data() + operand.gradient;
            call.terms.to_step = operand.columns > 1 ? kRowLanes : 0;
            stages_[values_[i].stage].backward.push_back(call);
        }
    }
}

void RowLoss::Call::run(std::size_t floats) const {
    if (floats == 0) return loop(terms);
    RowTerms shifted = terms;
    shifted.out += floats;
    shifted.value += floats;
    for (std::size_t i = 0; i < shifted.operands.size(); ++i)
        if (shifted.operands[i] != nullptr && !is_table[i]) shifted.operands[i] += floats;
    if (shifted.gradient != nullptr) shifted.gradient += floats;
    if (shifted.to != nullptr) shifted.to += floats;
    loop(shifted);
}

void RowLoss::add_other(const std::string& name, std::size_t index) {
    for (std::size_t i = 0; i < formulas_.nodes.size(); ++i) {
        const Node& node = formulas_.nodes[i];
        if (node.op != Opcode::Name) continue;
        if (node.name == name + ".logits") inputs_.push_back({i, Input::Of::Logits, index});
        if (node.name == name + ".z") inputs_.push_back({i, Input::Of::Features, index});
    }
}

bool RowLoss::moves_features() const {
    return std::ranges::any_of(inputs_, [](const Input& input) { return input.of == Input::Of::Features && !input.other; });
}

void RowLoss::set(std::string_view name, double number) {
    for (std::size_t i = 0; i < formulas_.nodes.size(); ++i)
        if (formulas_.nodes[i].op == Opcode::Name && formulas_.nodes[i].shape == Shape::Number &&
            formulas_.nodes[i].name == name)
            numbers_[i] = number;
    is_new_ = true;
}

void RowLoss::set_by_class(std::string_view name, std::span<const float> values) {
    const auto found = by_class_.find(name);
    if (found == by_class_.end()) return;
    FEDHIVE_CHECK_EQ(values.size(), found->second.size());
    std::ranges::copy(values, found->second.begin());  // the calls know its place
    is_new_ = true;
}

double RowLoss::number_of(const Node& node) const {
    std::array<Numbers, 3> values;
    std::array<const Numbers*, 3> arguments{};
    for (std::size_t a = 0; a < node.num_args; ++a) {
        values[a] = {numbers_[node.args[a]].value()};
        arguments[a] = &values[a];
    }
    return evaluate(node, {arguments.data(), node.num_args}).front();
}

/// Numbers in f64, then what depends on them and on values by class alone.
void RowLoss::evaluate_visit() {
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const Node& node = formulas_.nodes[i];
        if (values_[i].when == Value::When::Number) {
            if (node.op == Opcode::Number) numbers_[i] = node.number;
            if (node.num_args > 0) numbers_[i] = number_of(node);
            FEDHIVE_CHECK(numbers_[i].has_value(), "'{}' has no value", node.name);
            std::fill_n(at(i), kRowLanes, static_cast<float>(*numbers_[i]));
        } else if (is_by_class(node) && !is_table(node.shape)) {
            const std::vector<float>& values = by_class_.find(node.name)->second;
            for (std::size_t c = 0; c < values.size(); ++c) std::fill_n(at(i) + c * kRowLanes, kRowLanes, values[c]);
        }
    }
    for (const Call& call : of_visit_) call.run(0);
    for (std::size_t floats = room_of_group_; floats < room_.size(); floats += room_of_group_)
        std::copy_n(room_.begin(), first_gradient_, room_.begin() + static_cast<std::ptrdiff_t>(floats));
    is_new_ = false;
}

/// floats: distance of the rows' values from those of the first rows in room_.
void RowLoss::load(const RowLossBatch& batch, std::span<const std::size_t> rows, std::size_t floats) {
    for (const Input& input : inputs_) {
        float* const to = at(input.node) + floats;
        if (input.of == Input::Of::Label) {
            for (std::size_t l = 0; l < kRowLanes; ++l)
                to[l] = static_cast<float>(batch.labels[rows[std::min(l, rows.size() - 1)]]);
            continue;
        }
        const RowAnswers own{batch.logits, batch.features};
        const RowAnswers& from = input.other ? batch.others[*input.other] : own;
        const float* const values = input.of == Input::Of::Logits ? from.logits : from.features;
        FEDHIVE_CHECK(values != nullptr, "'{}' has no value", formulas_.nodes[input.node].name);
        to_lanes(to, values, values_[input.node].columns, rows);
    }
}

void RowLoss::store(const RowLossBatch& batch, std::span<const std::size_t> rows, std::size_t floats) {
    for (const Input& input : inputs_) {
        if (input.other || input.of == Input::Of::Label) continue;
        float* const to = input.of == Input::Of::Logits ? batch.logits : batch.features_gradient;
        if (to != nullptr)
            from_lanes(to, room_.data() + floats + values_[input.node].gradient, values_[input.node].columns, rows,
                       batch.weight);
    }
}

std::vector<std::size_t> RowLoss::counted_rows(const RowLossBatch& batch) const {
    std::vector<std::size_t> counted;
    counted.reserve(batch.rows);
    for (std::size_t r = 0; r < batch.rows; ++r)
        if (batch.labels[r] >= 0) counted.push_back(r);
    return counted;
}

template <typename Take>
void RowLoss::each_value(const RowLossBatch& batch, const Take& take) {
    FEDHIVE_CHECK(!is_over_batch(), "a measure or an answer over a batch");
    if (is_new_) evaluate_visit();
    const std::vector<std::size_t> counted = counted_rows(batch);
    for (std::size_t first = 0; first < counted.size(); first += kRowLanes) {
        const std::span<const std::size_t> rows =
            std::span(counted).subspan(first, std::min(kRowLanes, counted.size() - first));
        load(batch, rows, 0);
        for (const Call& call : stages_.front().forward) call.run(0);
        take(rows);
    }
}

void RowLoss::add_by_class(const RowLossBatch& batch, std::span<std::vector<double>> sums) {
    FEDHIVE_CHECK_EQ(sums.size(), formulas_.targets.size());
    each_value(batch, [&](std::span<const std::size_t> rows) {
        for (std::size_t t = 0; t < sums.size(); ++t) {
            const Target& target = formulas_.targets[t];
            const std::size_t columns = columns_of(target);
            for (std::size_t l = 0; l < rows.size(); ++l) {
                double* const to = sums[t].data() + static_cast<std::size_t>(batch.labels[rows[l]]) * columns;
                for (std::size_t c = 0; c < columns; ++c) to[c] += static_cast<double>(at(target.node)[c * kRowLanes + l]);
            }
        }
    });
}

void RowLoss::answer(const RowLossBatch& batch, std::span<float> answers, std::span<float> losses) {
    const float* const answer = at(formulas_.targets.at(0).node);
    const float* const loss = at(formulas_.targets.at(1).node);
    each_value(batch, [&](std::span<const std::size_t> rows) {
        for (std::size_t l = 0; l < rows.size(); ++l) {
            for (std::size_t c = 0; c < sizes_.classes; ++c) answers[rows[l] * sizes_.classes + c] = answer[c * kRowLanes + l];
            losses[rows[l]] = loss[l];
        }
    });
}

BatchLanes RowLoss::lanes(std::size_t first, std::size_t columns, std::size_t examples) {
    return {.first = room_.data() + first, .stride = room_of_group_, .columns = columns, .examples = examples};
}

void RowLoss::evaluate_batch(std::size_t node, std::size_t examples) {
    const Value &value = values_[node], &arg = values_[formulas_.nodes[node].args[0]];
    const BatchLanes from = lanes(arg.first, arg.columns, examples), to = lanes(value.first, value.columns, examples);
    if (formulas_.nodes[node].op == Opcode::BatchMean)
        batch_mean(from, to);
    else
        batch_square(from, to, products_[node]);
}

void RowLoss::back_of_batch(std::size_t node, std::size_t examples) {
    const Value &value = values_[node], &arg = values_[formulas_.nodes[node].args[0]];
    if (!value.moves) return;
    const BatchLanes gradient = lanes(value.gradient, value.columns, examples);
    const BatchLanes to = lanes(arg.gradient, arg.columns, examples);
    if (formulas_.nodes[node].op == Opcode::BatchMean)
        add_back_of_batch_mean(gradient, to);
    else
        add_back_of_batch_square(lanes(arg.first, arg.columns, examples), gradient, products_[node], to);
}

/// Gradients of the rows' values: 1 of the loss, 0 of the others.
void RowLoss::begin_gradients(std::size_t floats) {
    const auto first = room_.begin() + static_cast<std::ptrdiff_t>(floats);
    std::fill(first + static_cast<std::ptrdiff_t>(first_gradient_), first + static_cast<std::ptrdiff_t>(room_of_group_), 0.0F);
    const Value& root = values_[formulas_.targets.front().node];
    if (root.moves) std::fill_n(room_.data() + floats + root.gradient, kRowLanes, 1.0F);
}

double RowLoss::run(const RowLossBatch& batch) {
    const std::vector<std::size_t> counted = counted_rows(batch);
    const bool is_staged = is_over_batch();
    if (is_staged) reserve(divide_up(counted.size(), kRowLanes));
    if (is_new_) evaluate_visit();
    if (!reads("logits")) std::fill_n(batch.logits, batch.rows * sizes_.classes, 0.0F);
    for (std::size_t r = 0; r < batch.rows; ++r) {
        if (batch.labels[r] >= 0) continue;
        std::fill_n(batch.logits + r * sizes_.classes, sizes_.classes, 0.0F);
        if (batch.features_gradient != nullptr)
            std::fill_n(batch.features_gradient + r * sizes_.features, sizes_.features, 0.0F);
    }
    const std::size_t root = formulas_.targets.front().node;
    double sum = 0.0;
    // Calls take(rows, floats) for the rows that count, sixteen at a time.
    const auto each_group = [&](const auto& take) {
        for (std::size_t first = 0; first < counted.size(); first += kRowLanes)
            take(std::span(counted).subspan(first, std::min(kRowLanes, counted.size() - first)),
                 is_staged ? first / kRowLanes * room_of_group_ : 0);
    };
    const auto forward = [](const Stage& stage, std::size_t floats) {
        for (const Call& call : stage.forward) call.run(floats);
    };
    const auto backward = [](const Stage& stage, std::size_t floats) {
        for (const Call& call : stage.backward) call.run(floats);
    };
    const auto add_loss = [&](std::size_t rows, std::size_t floats) {
        for (std::size_t l = 0; l < rows; ++l) sum += static_cast<double>((at(root) + floats)[l]);
        begin_gradients(floats);
    };
    if (!is_staged) {
        each_group([&](std::span<const std::size_t> rows, std::size_t) {
            load(batch, rows, 0);
            forward(stages_.front(), 0);
            add_loss(rows.size(), 0);
            backward(stages_.front(), 0);
            store(batch, rows, 0);
        });
        return sum;
    }
    each_group([&](std::span<const std::size_t> rows, std::size_t floats) { load(batch, rows, floats); });
    for (const Stage& stage : stages_) {
        for (const std::size_t node : stage.over_batch) evaluate_batch(node, counted.size());
        each_group([&](std::span<const std::size_t>, std::size_t floats) { forward(stage, floats); });
    }
    each_group([&](std::span<const std::size_t> rows, std::size_t floats) { add_loss(rows.size(), floats); });
    for (std::size_t i = stages_.size(); i-- > 0;) {
        each_group([&](std::span<const std::size_t>, std::size_t floats) { backward(stages_[i], floats); });
        for (const std::size_t node : stages_[i].over_batch) back_of_batch(node, counted.size());
    }
    each_group([&](std::span<const std::size_t> rows, std::size_t floats) { store(batch, rows, floats); });
    return sum;
}

}  // namespace fedhive::aggregation::formulas
