// Compiles a graph to steps: names become slots, arguments become what the operation's schema requires.
#include "clients/exported/execution_plan.h"
#include "clients/exported/operations.h"
#include "clients/exported/refusal.h"

#include <ATen/ops/scalar_tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace fedhive::clients::exported {

namespace {

using c10::IValue;
using c10::TypeKind;
using Kind = Argument::Kind;
using ArgumentSlot = ExecutionPlan::ArgumentSlot;
using Step = ExecutionPlan::Step;

bool is_write(const c10::Argument& argument) { return argument.alias_info() != nullptr && argument.alias_info()->isWrite(); }

c10::MemoryFormat memory_format_of(std::int64_t number) {
    constexpr std::array kFormats{c10::MemoryFormat::Contiguous, c10::MemoryFormat::ChannelsLast,
                                  c10::MemoryFormat::ChannelsLast3d, c10::MemoryFormat::Preserve};
    if (number < 1 || number > static_cast<std::int64_t>(kFormats.size())) refuse("has an unknown memory format", kExport);
    return kFormats[static_cast<std::size_t>(number) - 1];
}

}  // namespace

c10::IValue wrapped_number(const IValue& number) {
    at::Tensor tensor = number.isBool()  ? at::scalar_tensor(number.toBool(), at::kBool)
                        : number.isInt() ? at::scalar_tensor(number.toInt(), at::kLong)
                                         : at::scalar_tensor(number.toDouble(), at::kDouble);
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    return tensor;
}

at::ScalarType scalar_type_of(int dtype) {
    using Type = at::ScalarType;
    switch (dtype) {
        case 1:
            return Type::Byte;
        case 2:
            return Type::Char;
        case 3:
            return Type::Short;
        case 4:
            return Type::Int;
        case 5:
            return Type::Long;
        case 6:
            return Type::Half;
        case 7:
            return Type::Float;
        case 8:
            return Type::Double;
        case 12:
            return Type::Bool;
        case 13:
            return Type::BFloat16;
        default:
            refuse(fmt::format("has a tensor of the unknown type {}", dtype), kExport);
    }
}

class PlanBuilder {
public:
    PlanBuilder(ExecutionPlan& plan, const Writables& writables, GraphMode pass)
        : plan_(plan), writables_(writables), pass_(pass) {}

    void build(const Graph& graph) {
        for (const Argument& input : graph.inputs) {
            if (input.kind != Kind::Tensor) refuse("has a graph with an input that is not a tensor", kExport);
            plan_.inputs_.push_back(fresh(input.text));
        }
        for (const Node& node : graph.nodes) add(node);
        for (const Argument& output : graph.outputs) {
            if (output.kind != Kind::Tensor) refuse("has a graph with an output that is not a tensor", kExport);
            plan_.outputs_.push_back(slot(output.text));
        }
        plan_.num_slots_ = static_cast<std::size_t>(next_);
        find_last_uses();
    }

private:
    int fresh(const std::string& name) {
        if (name.empty() || !slots_.emplace(name, next_).second)
            refuse(fmt::format("is damaged: value {} exists twice", shown(name)), kExport);
        return next_++;
    }

    int slot(const std::string& name) const {
        const auto found = slots_.find(name);
        if (found == slots_.end())
            refuse(fmt::format("is damaged: value {} is used before it is defined", shown(name)), kExport);
        return found->second;
    }

    void add(const Node& node) {
        Step step;
        step.target = node.target;
        step.symbol = symbol_of(node.target);
        if (step.symbol != nullptr) {
            step.kind = Step::Kind::Symbol;
            for (const NamedArgument& input : node.inputs) push_operand(step, input.value);
        } else if (node.target.starts_with(kHigherOrder)) {
            add_graphs(step, node);
        } else if (!add_call(step, node)) {
            return;
        }
        for (const Argument& output : node.outputs) add_result(step, output);
        plan_.steps_.push_back(std::move(step));
    }

    void add_result(Step& step, const Argument& output) {
        if (!output.is_value() && output.kind != Kind::Tensors && output.kind != Kind::None)
            refuse(fmt::format("has a result of {} that is neither tensor nor number", shown(step.target)), kExport);
        step.results.emplace_back();
        step.result_is_list.push_back(output.kind == Kind::Tensors);
        if (output.is_value()) step.results.back().push_back(fresh(output.text));
        for (const std::string& name : output.names) step.results.back().push_back(fresh(name));
    }

    // Operations with graphs of their own.

    void add_graphs(Step& step, const Node& node) {
        const std::string_view name = std::string_view(node.target).substr(kHigherOrder.size());
        step.kind = name == "cond"                 ? Step::Kind::Condition
                    : name == "wrap_with_autocast" ? Step::Kind::Autocast
                                                   : Step::Kind::Gradient;
        const std::vector<std::string> operands = node.operands();
        for (const auto& [unused, value] : node.inputs) {
            if (value.kind == Kind::Graph)
                step.graphs.push_back(inner_plan(*value.graph, operands, node));
            else if (value.kind == Kind::Tensors)
                for (const std::string& operand : value.names) push_value(step, operand);
            else
                push_operand(step, value);
        }
        const std::size_t before = step.kind == Step::Kind::Autocast ? 4 : 1;  // operands before the graphs
        if (step.graphs.size() != (step.kind == Step::Kind::Condition ? 2U : 1U) ||
            step.arguments.size() != before + operands.size())
            refuse(fmt::format("is damaged: {} has wrong arguments", shown(node.target)), kExport);
    }

    std::unique_ptr<ExecutionPlan> inner_plan(const Graph& graph, const std::vector<std::string>& operands,
                                              const Node& node) const {
        if (operands.size() != graph.inputs.size())
            refuse(fmt::format("is damaged: {} passes a wrong number of values to its graph", shown(node.target)), kExport);
        Writables inner;
        for (std::size_t i = 0; i < operands.size(); ++i)
            if (const auto found = writables_.find(operands[i]); found != writables_.end())
                inner[graph.inputs[i].text] = found->second;
        return std::make_unique<ExecutionPlan>(graph, inner, pass_);
    }

    void push_value(Step& step, const std::string& name) {
        step.argument_slots.push_back({step.arguments.size(), ArgumentSlot::Kind::Value, {slot(name)}});
        step.arguments.emplace_back();
    }

    /// Appends an operand of an operation without a schema.
    void push_operand(Step& step, const Argument& value) {
        if (value.is_value()) return push_value(step, value.text);
        if (value.kind == Kind::Int)
            step.arguments.emplace_back(value.number);
        else if (value.kind == Kind::Float)
            step.arguments.emplace_back(value.real);
        else if (value.kind == Kind::Bool)
            step.arguments.emplace_back(value.number != 0);
        else if (value.kind == Kind::ScalarType)
            step.arguments.emplace_back(static_cast<std::int64_t>(scalar_type_of(static_cast<int>(value.number))));
        else if (value.kind == Kind::None || (value.kind == Kind::Text && value.text == "cpu"))
            step.arguments.emplace_back();  // a device: the run's own is used
        else
            refuse(fmt::format("gives {} an operand of a kind that it does not support", shown(step.target)), kExport);
    }

    // Calls of aten.

    /// Adds a call of aten; false if it is omitted because it only writes a value that must stay.
    bool add_call(Step& step, const Node& node) {
        const std::string rest = node.target.substr(kAten.size());
        const std::size_t dot = rest.find('.');
        const std::string name = rest.substr(0, dot), overload = rest.substr(dot + 1);
        step.operation = c10::Dispatcher::singleton().findSchema({"aten::" + name, overload == "default" ? "" : overload});
        if (!step.operation) refuse(fmt::format("has {}, which this LibTorch does not have", shown(node.target)), kExport);
        const c10::FunctionSchema& schema = step.operation->schema();
        std::map<std::string, const Argument*> given;
        for (const auto& [argument, value] : node.inputs)
            if (!given.emplace(argument, &value).second)
                refuse(fmt::format("is damaged: {} has the argument {} twice", shown(node.target), shown(argument)), kExport);
        if (leave_out(node, schema, given)) return false;
        step.check = kernel_check_of(rest);
        step.zeroed = name == "empty";
        const std::vector<std::string> written =
            pass_ == GraphMode::Training ? written_arguments(node) : std::vector<std::string>{};
        std::size_t used = 0;
        for (const c10::Argument& argument : schema.arguments()) {
            const auto found = given.find(argument.name());
            const bool writes = is_write(argument) || std::ranges::find(written, argument.name()) != written.end();
            if (writes && found != given.end() && found->second->kind == Kind::Tensor)
                step.written.push_back(step.arguments.size());
            used += found != given.end() ? 1 : 0;
            if (found != given.end())
                push(step, *found->second, argument);
            else if (argument.default_value())
                step.arguments.push_back(*argument.default_value());
            else
                refuse(fmt::format("is damaged: {} has no argument {}", shown(node.target), argument.name()), kExport);
            if (pass_ == GraphMode::Evaluation) switch_off(step, argument.name(), name, given);
        }
        if (used != given.size()) refuse(fmt::format("gives {} an unknown argument", shown(node.target)), kExport);
        return true;
    }

    /// Records the operation's writes; returns whether to omit it. Throws ConfigError for writes that are not allowed.
    bool leave_out(const Node& node, const c10::FunctionSchema& schema, const std::map<std::string, const Argument*>& given) {
        const std::vector<std::string> written = written_arguments(node);
        for (const c10::Argument& argument : schema.arguments()) {
            const bool by_schema = is_write(argument);
            const bool known = std::ranges::find(written, argument.name()) != written.end();
            if (by_schema && !known)
                refuse(fmt::format("has {}, which writes to a forbidden place", shown(node.target)), kExport);
            const auto found = given.find(argument.name());
            if (!known || found == given.end() || found->second->kind != Kind::Tensor) continue;
            const auto about = writables_.find(found->second->text);
            if (about == writables_.end()) continue;  // a value of the graph itself
            if (about->second == Writable::Never)
                refuse(fmt::format("has {}, which writes to its input, a parameter or a constant", shown(node.target)),
                       "h = h.clone()");
            const bool in_place = by_schema && node.outputs.size() == 1;  // it returns the written argument
            if (in_place) writables_[node.outputs[0].text] = about->second;
            if (!in_place || (about->second == Writable::Moved && pass_ == GraphMode::Training)) continue;
            slots_[node.outputs[0].text] = slot(found->second->text);
            return true;
        }
        return false;
    }

    /// Clears the argument if it is a flag of training; norms without running statistics keep using the batch's.
    static void switch_off(Step& step, const std::string& argument, const std::string& operation,
                           const std::map<std::string, const Argument*>& given) {
        const auto statistics = given.find("running_mean");
        const bool none = statistics == given.end() || statistics->second->kind == Kind::None;
        if (argument == "train" || argument == "training") step.arguments.back() = operation == "batch_norm" && none;
        if (argument == "use_input_stats") step.arguments.back() = none;
        if (argument == "dropout_p") step.arguments.back() = 0.0;
    }

    void push(Step& step, const Argument& value, const c10::Argument& argument) {
        c10::TypePtr type = argument.type();
        const bool optional = type->kind() == TypeKind::OptionalType;
        if (optional) type = type->castRaw<c10::OptionalType>()->getElementType();
        if (value.kind == Kind::None && (optional || type->kind() == TypeKind::TensorType))
            return void(step.arguments.emplace_back());
        const bool done = type->kind() == TypeKind::TensorType ? push_tensor(step, value)
                          : type->kind() == TypeKind::ListType
                              ? push_list(step, value, *type->castRaw<c10::ListType>()->getElementType())
                              : push_number(step, value, type->kind());
        if (!done)
            refuse(fmt::format("gives {} a value for {} that is not {}", shown(step.target), argument.name(), type->str()),
                   kExport);
    }

    void push_argument_slot(Step& step, ArgumentSlot::Kind kind, std::vector<int> slots,
                            std::vector<std::int64_t> integers = {}) {
        step.argument_slots.push_back({step.arguments.size(), kind, std::move(slots), std::move(integers)});
        step.arguments.emplace_back();
    }

    bool push_tensor(Step& step, const Argument& value) {
        switch (value.kind) {
            case Kind::Tensor:
                push_argument_slot(step, ArgumentSlot::Kind::Value, {slot(value.text)});
                return true;
            case Kind::SymInt:
            case Kind::SymFloat:
                push_argument_slot(step, ArgumentSlot::Kind::Tensor, {slot(value.text)});
                return true;
            case Kind::Int:
                step.arguments.push_back(wrapped_number(value.number));
                return true;
            case Kind::Float:
                step.arguments.push_back(wrapped_number(value.real));
                return true;
            case Kind::Bool:
                step.arguments.push_back(wrapped_number(value.number != 0));
                return true;
            default:
                return false;
        }
    }

    std::vector<int> slots_of(const std::vector<std::string>& names) const {
        std::vector<int> slots(names.size());
        for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = names[i].empty() ? -1 : slot(names[i]);
        return slots;
    }

    bool push_list(Step& step, const Argument& value, const c10::Type& element) {
        switch (element.kind()) {
            case TypeKind::TensorType:
                if (value.kind != Kind::Tensors && !(value.kind == Kind::Ints && value.ints.empty())) return false;
                for (const std::string& name : value.names) slot(name);  // throws for a missing name
                push_argument_slot(step, ArgumentSlot::Kind::Tensors, slots_of(value.names));
                return true;
            case TypeKind::OptionalType:
                if (value.kind != Kind::Tensors) return false;
                push_argument_slot(step, ArgumentSlot::Kind::OptionalTensors, slots_of(value.names));
                return true;
            case TypeKind::IntType:
            case TypeKind::SymIntType:
                if (value.kind == Kind::SymInts)
                    push_argument_slot(step, ArgumentSlot::Kind::Integers, slots_of(value.names), value.ints);
                else if (value.kind == Kind::Ints)
                    step.arguments.emplace_back(c10::List<std::int64_t>(at::IntArrayRef(value.ints)));
                else if (value.kind == Kind::Int)
                    step.arguments.emplace_back(c10::List<std::int64_t>({value.number}));
                else
                    return false;
                return true;
            case TypeKind::FloatType:
                if (value.kind != Kind::Floats) return false;
                step.arguments.emplace_back(c10::List<double>(at::ArrayRef<double>(value.floats)));
                return true;
            case TypeKind::BoolType: {
                if (value.kind != Kind::Bools) return false;
                c10::List<bool> list;
                for (const std::int64_t each : value.ints) list.push_back(each != 0);
                step.arguments.emplace_back(std::move(list));
                return true;
            }
            default:
                return false;
        }
    }

    bool push_number(Step& step, const Argument& value, TypeKind type) {
        std::vector<IValue>& to = step.arguments;
        const bool number = type == TypeKind::NumberType, real = type == TypeKind::FloatType;
        const bool integer = type == TypeKind::IntType || type == TypeKind::SymIntType || type == TypeKind::ScalarTypeType ||
                             type == TypeKind::LayoutType || type == TypeKind::MemoryFormatType;
        const bool symbol = value.is_value() && value.kind != Kind::Tensor;
        if (symbol && (number || real || integer || type == TypeKind::BoolType))
            push_argument_slot(step, real ? ArgumentSlot::Kind::Real : ArgumentSlot::Kind::Value, {slot(value.text)});
        else if (real && value.kind == Kind::Int)
            to.emplace_back(static_cast<double>(value.number));
        else if ((real || number) && value.kind == Kind::Float)
            to.emplace_back(value.real);
        else if ((integer || number) && value.kind == Kind::Int)
            to.emplace_back(value.number);
        else if ((number || type == TypeKind::BoolType) && value.kind == Kind::Bool)
            to.emplace_back(value.number != 0);
        else if (type == TypeKind::StringType && value.kind == Kind::Text)
            to.emplace_back(value.text);
        else if (type == TypeKind::DeviceObjType && value.kind == Kind::Device)
            to.emplace_back(c10::Device(c10::kCPU));  // the run's device, never the file's
        else if (integer && value.kind == Kind::ScalarType)
            to.emplace_back(static_cast<std::int64_t>(scalar_type_of(static_cast<int>(value.number))));
        else if (integer && value.kind == Kind::Layout && value.number == 7)
            to.emplace_back(static_cast<std::int64_t>(c10::kStrided));
        else if (integer && value.kind == Kind::MemoryFormat)
            to.emplace_back(static_cast<std::int64_t>(memory_format_of(value.number)));
        else
            return false;
        return true;
    }

    /// Finds each slot's last use, after which the step frees its value.
    void find_last_uses() {
        std::set<int> seen(plan_.outputs_.begin(), plan_.outputs_.end());
        for (std::size_t i = plan_.steps_.size(); i-- > 0;) {
            Step& step = plan_.steps_[i];
            const auto note = [&](int used) {
                if (used >= 0 && seen.insert(used).second) step.last_used.push_back(used);
            };
            for (const ArgumentSlot& argument_slot : step.argument_slots)
                std::for_each(argument_slot.slots.begin(), argument_slot.slots.end(), note);
            for (const std::vector<int>& result : step.results) std::for_each(result.begin(), result.end(), note);
        }
    }

    ExecutionPlan& plan_;
    Writables writables_;
    GraphMode pass_;
    std::unordered_map<std::string, int> slots_;
    int next_ = 0;
};

ExecutionPlan::ExecutionPlan(const Graph& graph, const Writables& writables, GraphMode pass) {
    PlanBuilder(*this, writables, pass).build(graph);
}

}  // namespace fedhive::clients::exported
