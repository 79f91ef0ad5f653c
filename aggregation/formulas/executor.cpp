#include "aggregation/formulas/executor.h"

#include "aggregation/formulas/cohort_products.h"
#include "aggregation/math/dispatch.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/param_buffer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

namespace fedhive::aggregation::formulas {

namespace {

using Kind = Operand::Kind;

constexpr std::size_t kBlock = element::kChunk;
constexpr std::size_t kLanes = element::kLanes;
static_assert(kBlock % kChunk == 0);
constexpr std::size_t kFewRegisters = 4;  // so that twice as long chunks of all operands stay in the first cache

/// A block's lanes by halves, as on the device.
double folded(std::array<double, kLanes>& lanes) {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    return std::exchange(lanes, {})[0];
}

/// Their order is that of the magnitudes; a NaN is the largest.
void append_magnitudes(std::vector<std::uint32_t>& to, std::span<const float> values) {
    for (const float value : values) to.push_back(std::bit_cast<std::uint32_t>(std::fabs(value)));
}

std::size_t number_bit(const Operand& operand, std::size_t place) {
    return operand.kind == Kind::Number ? std::size_t{1} << place : 0;
}

}  // namespace

Executor::Executor(Formulas formulas, const Loops* loops)
    : program_(compile(std::move(formulas))),
      tables_(loops != nullptr ? loops : &formulas::loops()),
      values_(program_.formulas.nodes.size()),
      vectors_(program_.vectors.size()),
      targets_(program_.stored.size()),
      vector_strides_(vectors_.size()),
      target_strides_(targets_.size()),
      narrowed_(program_.numbers.size()),
      chunk_(program_.registers <= kFewRegisters ? 2 * kChunk : kChunk) {
    for (const FormulaPass& pass : program_.passes) {
        std::vector<Loop>& of_pass = loops_.emplace_back();
        for (const Instruction& instruction : pass.code) of_pass.push_back(loop_of(instruction));
    }
}

Loop Executor::loop_of(const Instruction& one) const {
    const std::size_t kinds = number_bit(one.a, 0) | number_bit(one.b, 1) | number_bit(one.c, 2);
    if (one.is_pair) {
        const std::size_t pair = index_of(one.op) * kOpsPairable + index_of(one.outer);
        return tables_->pairs[(pair * 2 + (one.is_swapped ? 1 : 0)) * 8 + kinds];
    }
    if (is_of_two(one.op)) return tables_->of_two[index_of(one.op) * 4 + kinds];
    if (is_of_one(one.op)) return tables_->of_one[index_of(one.op) - kOpsOfTwo];
    return tables_->where[kinds];
}

void Executor::set(std::string_view name, double number) { set(name, Numbers{number}); }

void Executor::set(std::string_view name, Numbers of_updates) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const Node& node = program_.formulas.nodes[i];
        if (node.op != Opcode::Name || node.shape == Shape::Vector || node.name != name) continue;
        values_[i] = std::move(of_updates);
        is_new_ = true;
        return;
    }
}

std::size_t Executor::place_of(std::string_view vector) const {
    const auto found = std::find(program_.vectors.begin(), program_.vectors.end(), vector);
    return found == program_.vectors.end() ? kNowhere : static_cast<std::size_t>(found - program_.vectors.begin());
}

void Executor::set(std::string_view name, ConstParamSpan vector) {
    for (std::size_t i = 0; i < vectors_.size(); ++i)
        if (program_.vectors[i] == name) vectors_[i] = vector;
}

void Executor::set_products(const InnerProducts* products) {
    products_ = products;
    is_new_ = true;
}

void Executor::write_to(std::string_view name, ParamSpan vector, std::size_t stride) {
    for (std::size_t i = 0; i < targets_.size(); ++i) {
        if (program_.stored[i] != name) continue;
        targets_[i] = vector;
        target_strides_[i] = stride;
    }
}

const Numbers& Executor::numbers(std::string_view target) const {
    for (const Target& one : program_.formulas.targets)
        if (one.name == target && values_[one.node]) return *values_[one.node];
    throw Fault(fmt::format("no number '{}'", target));
}

void Executor::evaluate_number(std::size_t i) {
    const Node& node = program_.formulas.nodes[i];
    if (node.op == Opcode::Number) {
        values_[i] = Numbers{node.number};
    } else if (node.op == Opcode::Name) {
        FEDHIVE_CHECK(values_[i].has_value(), "'{}' has no value", node.name);
    } else {
        std::array<const Numbers*, 3> arguments{};
        for (std::size_t a = 0; a < node.num_args; ++a) arguments[a] = &*values_[node.args[a]];
        const std::span<const Numbers* const> given(arguments.data(), node.num_args);
        values_[i] = is_of_products(node.op) ? of_products(node.op, given, products_) : evaluate(node, given);
    }
}

void Executor::run_repeat(const Repeat& repeat) {
    const std::vector<Node>& nodes = program_.formulas.nodes;
    for (const Repeat::Variable& variable : repeat.variables) values_[variable.node] = values_[nodes[variable.node].args[0]];
    std::vector<std::size_t> of_turn;
    for (std::size_t i = repeat.first + repeat.variables.size(); i < repeat.end; ++i)
        if (nodes[i].num_args == 0)
            evaluate_number(i);
        else
            of_turn.push_back(i);
    const double count = values_[repeat.count]->front();
    if (count > static_cast<double>(kMostTurns))
        throw ConfigError(
            fmt::format("strategy: a repeat of {} turns in the formulas of the cohort; allowed: at most {}. Set a smaller "
                        "value of the key that counts them.",
                        count, kMostTurns));
    const std::size_t turns = count >= 1.0 ? static_cast<std::size_t>(count) : 0;
    for (std::size_t turn = 0; turn < turns; ++turn) {
        for (const std::size_t i : of_turn) evaluate_number(i);
        std::vector<Numbers> next;
        for (const Repeat::Variable& variable : repeat.variables) {
            const std::size_t size = values_[variable.node]->size();
            next.push_back(*values_[variable.next]);
            if (next.back().size() < size) next.back().assign(size, next.back().front());
        }
        for (std::size_t v = 0; v < next.size(); ++v) values_[repeat.variables[v].node] = std::move(next[v]);
    }
}

/// The nodes that can be computed once `level` passes have run.
void Executor::evaluate_numbers(std::size_t level) {
    const std::vector<Node>& nodes = program_.formulas.nodes;
    auto repeat = program_.formulas.repeats.begin();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (repeat != program_.formulas.repeats.end() && repeat->first == i) {
            if (level == 0) run_repeat(*repeat);
            i = repeat++->end - 1;
            continue;
        }
        const Node& node = nodes[i];
        if (node.shape == Shape::Vector || program_.levels[i] != level || is_reduction(node.op)) continue;
        evaluate_number(i);
    }
    for (std::size_t i = 0; i < narrowed_.size(); ++i)
        if (const auto& value = values_[program_.numbers[i]]; value && program_.levels[program_.numbers[i]] <= level)
            narrowed_[i] = static_cast<float>(value->front());
}

MemorySpace Executor::space() const {
    return !targets_.empty() ? targets_.front().space : !vectors_.empty() ? vectors_.front().space : MemorySpace::Host;
}

const float* Executor::input(const Operand& operand, std::size_t first) const {
    switch (operand.kind) {
        case Kind::Register:
            return registers_.data() + operand.index * chunk_;
        case Kind::Vector:
            return vectors_[operand.index].data + row_ * vector_strides_[operand.index] + first;
        case Kind::Number:
            return &narrowed_[operand.index];
        default: {
            static constexpr float kNothing = 0.0F;  // the loop does not look at it
            return &kNothing;
        }
    }
}

/// An operand of a sum: a chunk of it, also where it is one number.
const float* Executor::spread(const Operand& operand, std::size_t first, std::size_t place) {
    if (operand.kind != Kind::Number) return input(operand, first);
    spread_[place].fill(narrowed_[operand.index]);
    return spread_[place].data();
}

float* Executor::output(const Operand& operand, std::size_t first) {
    return operand.kind == Kind::Register ? registers_.data() + operand.index * chunk_
                                          : targets_[operand.index].data + row_ * target_strides_[operand.index] + first;
}

/// Finds the operands of a pass once, since a chunk of a small model takes little longer than that.
void Executor::place(const FormulaPass& pass) {
    const std::vector<Loop>& loops = loops_[static_cast<std::size_t>(&pass - program_.passes.data())];
    placed_.resize(loops.size());
    const auto in = [&](const Operand& operand) {
        return HostOperand<const float>{input(operand, 0), operand.kind == Kind::Vector ? std::size_t{1} : 0};
    };
    for (std::size_t i = 0; i < loops.size(); ++i) {
        const Instruction& one = pass.code[i];
        placed_[i] = {loops[i],
                      {output(one.out, 0), one.out.kind == Kind::Register ? 0 : std::size_t{1}},
                      {in(one.a), in(one.b), in(one.c)}};
    }
}

void Executor::run_host(std::size_t first, std::size_t width) {
    for (const HostInstruction& one : placed_)
        one.loop(one.out.at(first), one.in[0].at(first), one.in[1].at(first), one.in[2].at(first), width);
}

/// Adds what the pass sums over the range to `totals`.
void Executor::sum_host(const FormulaPass& pass, const ElementRange& range, std::span<double> totals) {
    std::vector<std::array<double, kLanes>> lanes(totals.size());
    const std::size_t end = range.first + range.width;
    place(pass);
    for (std::size_t block = range.first; block < end; block += kBlock) {
        const std::size_t block_end = std::min(block + kBlock, end);
        for (std::size_t first = block; first < block_end; first += kChunk) {
            const std::size_t width = std::min(kChunk, block_end - first);
            run_host(first, width);
            for (std::size_t r = 0; r < totals.size(); ++r) {
                const Reduction& one = pass.reductions[r];
                const float* a = spread(one.a, first, 0);
                if (one.is_threshold)
                    append_magnitudes(magnitudes_[r], {a, width});
                else
                    tables_->add_products(lanes[r].data(), a, one.b.kind == Kind::None ? nullptr : spread(one.b, first, 1),
                                          width);
            }
        }
        for (std::size_t r = 0; r < totals.size(); ++r) totals[r] += folded(lanes[r]);
    }
}

DevicePass Executor::on_device(const FormulaPass& pass) const {
    DevicePass device{};
    std::copy(pass.code.begin(), pass.code.end(), device.code);
    device.instructions = pass.code.size();
    for (std::size_t i = 0; i < vectors_.size(); ++i) device.vectors[i] = vectors_[i].data;
    for (std::size_t i = 0; i < targets_.size(); ++i) device.targets[i] = targets_[i].data;
    std::copy(vector_strides_.begin(), vector_strides_.end(), device.vector_strides);
    std::copy(target_strides_.begin(), target_strides_.end(), device.target_strides);
    std::copy(narrowed_.begin(), narrowed_.end(), device.numbers);
    return device;
}

void Executor::sum_cuda(const FormulaPass& pass, const ElementRange& range, std::span<double> totals) const {
    const DevicePass device = on_device(pass);
    for (std::size_t r = 0; r < totals.size(); ++r) {
        if (pass.reductions[r].is_threshold) continue;
        double sum = 0.0;
        dispatch(
            space(), [] {},
            [&] {
                return kernels::sum_of_products(sum, device, pass.reductions[r].a, pass.reductions[r].b, range.first,
                                                range.width);
            });
        totals[r] += sum;
    }
}

/// Copies the values of the pass's thresholds to the host: the pass with one more target for each.
void Executor::gather_cuda(const FormulaPass& pass, const ElementRange& range) {
    for (std::size_t r = 0; r < pass.reductions.size(); ++r) {
        if (!pass.reductions[r].is_threshold) continue;
        DevicePass device = on_device(pass);
        FEDHIVE_CHECK(device.instructions < kMostInstructions && targets_.size() < kMostTargets, "no room for a threshold");
        const ParamBuffer room(range.first + range.width, space());
        const Operand from = pass.reductions[r].a;
        device.targets[targets_.size()] = room.span().data;
        device.code[device.instructions++] = {
            .op = Opcode::Minimum, .a = from, .b = from, .out = {Kind::Target, static_cast<std::uint8_t>(targets_.size())}};
        dispatch(
            space(), [] {}, [&] { return kernels::run_pass(device, range.first, range.width, 1); });
        std::vector<float> values(range.width);
        copy(ParamSpan(values), ConstParamSpan(room.span()).part(range.first, range.width));
        synchronize(space());
        append_magnitudes(magnitudes_[r], values);
    }
}

/// The smallest of the largest `share` of these magnitudes, of at least one.
double Executor::threshold_of(std::vector<std::uint32_t>& magnitudes, double share) const {
    if (magnitudes.empty()) return 0.0;
    const auto all = static_cast<double>(magnitudes.size());
    const double wanted = share > 0.0 ? std::min(std::round(share * all), all) : 0.0;
    const auto last = magnitudes.begin() + static_cast<std::ptrdiff_t>(std::max(wanted, 1.0)) - 1;
    std::nth_element(magnitudes.begin(), last, magnitudes.end(), std::greater<>());
    return static_cast<double>(std::bit_cast<float>(*last));
}

void Executor::reduce(const FormulaPass& pass, std::span<const ElementRange> ranges) {
    std::vector<double> totals(pass.reductions.size(), 0.0);
    magnitudes_.resize(std::max(magnitudes_.size(), totals.size()));
    for (std::vector<std::uint32_t>& of_threshold : magnitudes_) of_threshold.clear();
    std::size_t elements = 0;
    for (const ElementRange& range : ranges) {
        elements += range.width;
        if (space() == MemorySpace::Host) {
            sum_host(pass, range, totals);
        } else {
            sum_cuda(pass, range, totals);
            gather_cuda(pass, range);
        }
    }
    for (std::size_t r = 0; r < totals.size(); ++r) {
        const Node& node = program_.formulas.nodes[pass.reductions[r].node];
        if (node.op == Opcode::Threshold)
            totals[r] = threshold_of(magnitudes_[r], values_[node.args[1]]->front());
        else if (node.op == Opcode::Mean)
            totals[r] /= static_cast<double>(elements);
        values_[pass.reductions[r].node] = Numbers{totals[r]};
    }
}

void Executor::run(std::span<const ElementRange> ranges, std::size_t rows) {
    FEDHIVE_CHECK(rows == 1 || program_.passes.size() == 1, "sums over the elements of {} rows", rows);
    registers_.resize(program_.registers * chunk_);
    for (std::size_t level = 0; level < program_.passes.size(); ++level) {
        if (level > 0 || is_new_) evaluate_numbers(level);
        if (level + 1 < program_.passes.size()) reduce(program_.passes[level], ranges);
    }
    is_new_ = false;
    if (!program_.writes_vectors()) return;
    for (const ElementRange& range : ranges) run_last(range, rows);
}

GradientPass Executor::gradient_pass() {
    FEDHIVE_CHECK(program_.passes.size() == 1 && program_.stored == std::vector<std::string>{"g"},
                  "not one pass that writes g");
    if (is_new_) evaluate_numbers(0);
    is_new_ = false;
    GradientPass rule{on_device(program_.passes.front())};
    if (const std::size_t place = place_of("g"); place != kNowhere) rule.gradient = place;
    if (const std::size_t place = place_of("w"); place != kNowhere) rule.parameters = place;
    return rule;
}

void Executor::run_last(const ElementRange& range, std::size_t rows) {
    const FormulaPass& pass = program_.passes.back();
    const auto on_host = [&] {
        const std::size_t end = range.first + range.width;
        for (row_ = 0; row_ < rows; ++row_) {
            place(pass);
            for (std::size_t first = range.first; first < end; first += chunk_) run_host(first, std::min(chunk_, end - first));
        }
        row_ = 0;
    };
    dispatch(space(), on_host, [&] { return kernels::run_pass(on_device(pass), range.first, range.width, rows); });
}

}  // namespace fedhive::aggregation::formulas
