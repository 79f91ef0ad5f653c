#include "aggregation/formulas/row_loss.h"

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
    const auto add = [&](Op op, Shape shape, std::initializer_list<std::size_t> args) {
        Node& node =
            answer.nodes.emplace_back(Node{.op = op, .num_args = static_cast<std::uint8_t>(args.size()), .shape = shape});
        std::ranges::copy(args, node.args.begin());
        return answer.nodes.size() - 1;
    };
    const std::size_t label = add(Op::Name, Shape::Row, {});
    answer.nodes.back().name = "y";
    const std::size_t logs = add(Op::LogSoftmax, Shape::Classes, {answer.targets.front().node});
    const std::size_t loss = add(Op::Negative, Shape::Row, {add(Op::Pick, Shape::Row, {logs, label})});
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
    return node.op == Op::Name && (is_table(node.shape) || (node.shape == Shape::Classes && node.name != "logits" &&
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
            const bool passes =
                loops_->backward[index_of(node.op)][0] != nullptr || loops_->backward[index_of(node.op)][1] != nullptr;
            value.moves = value.moves || (passes && values_[arg].moves);
        }
        if (node.op == Op::Name && node.shape != Shape::Number) {
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
    room_.assign(floats, 0.0F);
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
        if (of.op != Op::Pick || i == 0) terms.columns = std::max(terms.columns, values_[of.args[i]].columns);
    }
    if (of.op >= Op::PickRow && of.op < Op::Name) terms.columns = values_[node].columns;
    return terms;
}

void RowLoss::plan_calls() {
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const Node& node = formulas_.nodes[i];
        if (values_[i].when == Value::When::Number || node.num_args == 0) continue;
        const RowLoop loop = loops_->forward[index_of(node.op)];
        FEDHIVE_CHECK(loop != nullptr, "operation {} of examples", index_of(node.op));
        (values_[i].when == Value::When::Visit ? of_visit_ : forward_).push_back({loop, terms_of(i)});
    }
    for (std::size_t i = values_.size(); i-- > 0;) {
        const Node& node = formulas_.nodes[i];
        if (!values_[i].moves) continue;
        for (std::size_t arg = 0; arg < node.num_args; ++arg) {
            const Value& operand = values_[node.args[arg]];
            const RowLoop loop = loops_->backward[index_of(node.op)][arg];
            if (loop == nullptr || !operand.moves) continue;
            Call call{loop, terms_of(i)};
            call.terms.to = room_.data() + operand.gradient;
            call.terms.to_step = operand.columns > 1 ? kRowLanes : 0;
            backward_.push_back(call);
        }
    }
}

void RowLoss::add_other(const std::string& name, std::size_t index) {
    for (std::size_t i = 0; i < formulas_.nodes.size(); ++i) {
        const Node& node = formulas_.nodes[i];
        if (node.op != Op::Name) continue;
        if (node.name == name + ".logits") inputs_.push_back({i, Input::Of::Logits, index});
        if (node.name == name + ".z") inputs_.push_back({i, Input::Of::Features, index});
    }
}

bool RowLoss::moves_features() const {
    return std::ranges::any_of(inputs_, [](const Input& input) { return input.of == Input::Of::Features && !input.other; });
}

void RowLoss::set(std::string_view name, double number) {
    for (std::size_t i = 0; i < formulas_.nodes.size(); ++i)
        if (formulas_.nodes[i].op == Op::Name && formulas_.nodes[i].shape == Shape::Number && formulas_.nodes[i].name == name)
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
            if (node.op == Op::Number) numbers_[i] = node.number;
            if (node.num_args > 0) numbers_[i] = number_of(node);
            FEDHIVE_CHECK(numbers_[i].has_value(), "'{}' has no value", node.name);
            std::fill_n(at(i), kRowLanes, static_cast<float>(*numbers_[i]));
        } else if (is_by_class(node) && !is_table(node.shape)) {
            const std::vector<float>& values = by_class_.find(node.name)->second;
            for (std::size_t c = 0; c < values.size(); ++c) std::fill_n(at(i) + c * kRowLanes, kRowLanes, values[c]);
        }
    }
    for (const Call& call : of_visit_) call.loop(call.terms);
    is_new_ = false;
}

void RowLoss::load(const RowBatch& batch, std::span<const std::size_t> rows) {
    for (const Input& input : inputs_) {
        float* const to = at(input.node);
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

void RowLoss::store(const RowBatch& batch, std::span<const std::size_t> rows) {
    for (const Input& input : inputs_) {
        if (input.other || input.of == Input::Of::Label) continue;
        float* const to = input.of == Input::Of::Logits ? batch.logits : batch.features_gradient;
        if (to != nullptr)
            from_lanes(to, room_.data() + values_[input.node].gradient, values_[input.node].columns, rows, batch.weight);
    }
}

std::vector<std::size_t> RowLoss::counted_rows(const RowBatch& batch) const {
    std::vector<std::size_t> counted;
    counted.reserve(batch.rows);
    for (std::size_t r = 0; r < batch.rows; ++r)
        if (batch.labels[r] >= 0) counted.push_back(r);
    return counted;
}

void RowLoss::add_by_class(const RowBatch& batch, std::span<std::vector<double>> sums) {
    if (is_new_) evaluate_visit();
    FEDHIVE_CHECK_EQ(sums.size(), formulas_.targets.size());
    const std::vector<std::size_t> counted = counted_rows(batch);
    for (std::size_t first = 0; first < counted.size(); first += kRowLanes) {
        const std::span<const std::size_t> rows =
            std::span(counted).subspan(first, std::min(kRowLanes, counted.size() - first));
        load(batch, rows);
        for (const Call& call : forward_) call.loop(call.terms);
        for (std::size_t t = 0; t < sums.size(); ++t) {
            const Target& target = formulas_.targets[t];
            const std::size_t columns = columns_of(target);
            for (std::size_t l = 0; l < rows.size(); ++l) {
                double* const to = sums[t].data() + static_cast<std::size_t>(batch.labels[rows[l]]) * columns;
                for (std::size_t c = 0; c < columns; ++c) to[c] += static_cast<double>(at(target.node)[c * kRowLanes + l]);
            }
        }
    }
}

void RowLoss::answer(const RowBatch& batch, std::span<float> answers, std::span<float> losses) {
    if (is_new_) evaluate_visit();
    const float* const answer = at(formulas_.targets.at(0).node);
    const float* const loss = at(formulas_.targets.at(1).node);
    const std::vector<std::size_t> counted = counted_rows(batch);
    for (std::size_t first = 0; first < counted.size(); first += kRowLanes) {
        const std::span<const std::size_t> rows =
            std::span(counted).subspan(first, std::min(kRowLanes, counted.size() - first));
        load(batch, rows);
        for (const Call& call : forward_) call.loop(call.terms);
        for (std::size_t l = 0; l < rows.size(); ++l) {
            for (std::size_t c = 0; c < sizes_.classes; ++c) answers[rows[l] * sizes_.classes + c] = answer[c * kRowLanes + l];
            losses[rows[l]] = loss[l];
        }
    }
}

double RowLoss::run(const RowBatch& batch) {
    if (is_new_) evaluate_visit();
    if (!reads("logits")) std::fill_n(batch.logits, batch.rows * sizes_.classes, 0.0F);
    const std::size_t root = formulas_.targets.front().node;
    const std::vector<std::size_t> counted = counted_rows(batch);
    for (std::size_t r = 0; r < batch.rows; ++r) {
        if (batch.labels[r] >= 0) continue;
        std::fill_n(batch.logits + r * sizes_.classes, sizes_.classes, 0.0F);
        if (batch.features_gradient != nullptr)
            std::fill_n(batch.features_gradient + r * sizes_.features, sizes_.features, 0.0F);
    }
    double sum = 0.0;
    for (std::size_t first = 0; first < counted.size(); first += kRowLanes) {
        const std::span<const std::size_t> rows =
            std::span(counted).subspan(first, std::min(kRowLanes, counted.size() - first));
        load(batch, rows);
        for (const Call& call : forward_) call.loop(call.terms);
        for (std::size_t l = 0; l < rows.size(); ++l) sum += static_cast<double>(at(root)[l]);
        std::fill(room_.begin() + static_cast<std::ptrdiff_t>(first_gradient_), room_.end(), 0.0F);
        if (values_[root].moves) std::fill_n(room_.data() + values_[root].gradient, kRowLanes, 1.0F);
        for (const Call& call : backward_) call.loop(call.terms);
        store(batch, rows);
    }
    return sum;
}

}  // namespace fedhive::aggregation::formulas
