#include "clients/exported/execution_plan.h"

#include "aggregation/base/error.h"
#include "clients/exported/autocast.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace fedhive::clients::exported {

using c10::IValue;

namespace {

constexpr std::string_view kLstm = "torch.ops.aten.lstm.input";

}  // namespace

void ExecutionPlan::fill(const ArgumentSlot& argument_slot, const std::vector<IValue>& values, IValue& argument) {
    const auto value = [&](int slot) -> const IValue& { return values[static_cast<std::size_t>(slot)]; };
    switch (argument_slot.kind) {
        case ArgumentSlot::Kind::Value:
            argument = value(argument_slot.slots[0]);
            return;
        case ArgumentSlot::Kind::Real:
            argument = value(argument_slot.slots[0]);
            if (argument.isInt()) argument = static_cast<double>(argument.toInt());
            return;
        case ArgumentSlot::Kind::Tensor:
            argument = wrapped_number(value(argument_slot.slots[0]));
            return;
        case ArgumentSlot::Kind::Tensors: {
            c10::List<at::Tensor> list;
            list.reserve(argument_slot.slots.size());
            for (const int slot : argument_slot.slots) list.push_back(slot < 0 ? at::Tensor() : value(slot).toTensor());
            argument = std::move(list);
            return;
        }
        case ArgumentSlot::Kind::OptionalTensors: {
            c10::List<std::optional<at::Tensor>> list;
            for (const int slot : argument_slot.slots)
                list.push_back(slot < 0 ? std::nullopt : std::optional<at::Tensor>(value(slot).toTensor()));
            argument = std::move(list);
            return;
        }
        case ArgumentSlot::Kind::Integers: {
            c10::List<std::int64_t> list;
            for (std::size_t i = 0; i < argument_slot.slots.size(); ++i)
                list.push_back(argument_slot.slots[i] < 0 ? argument_slot.integers[i] : value(argument_slot.slots[i]).toInt());
            argument = std::move(list);
            return;
        }
    }
}

void ExecutionPlan::call_kernel(const Step& step, std::vector<IValue>& stack) {
    std::optional<AutocastIn> off;
    if (step.target == kLstm && lacks_fused_lstm()) off.emplace(std::nullopt, false, false);
    step.operation->callBoxed(stack);
}

void ExecutionPlan::call(const Step& step, std::vector<IValue>& stack, const Protected& fixed) const {
    switch (step.kind) {
        case Step::Kind::Call: {
            for (const std::size_t at : step.written) {
                const c10::StorageImpl* storage = stack[at].toTensor().storage().unsafeGetStorageImpl();
                if (std::find(fixed.begin(), fixed.end(), storage) != fixed.end())
                    throw Fault(
                        "writes through a view to the input, a parameter, a buffer or a constant; clone it first with h = "
                        "h.clone()");
            }
            if (step.check != nullptr) step.check(stack);
            call_kernel(step, stack);
            if (step.zeroed) stack.at(0).toTensor().zero_();
            return;
        }
        case Step::Kind::Symbol: {
            stack.assign(1, step.symbol(stack));
            return;
        }
        case Step::Kind::Gradient: {
            const c10::AutoGradMode mode(stack.at(0).toBool());
            stack = step.graphs[0]->run({stack.begin() + 1, stack.end()}, fixed);
            return;
        }
        case Step::Kind::Condition: {
            const bool yes = stack.at(0).isBool() ? stack[0].toBool() : stack[0].toTensor().item<bool>();
            stack = step.graphs[yes ? 0 : 1]->run({stack.begin() + 1, stack.end()}, fixed);
            return;
        }
        case Step::Kind::Autocast: {  // device, type, on, cache
            const bool cache = !stack.at(3).isBool() || stack[3].toBool();
            const auto type = stack.at(1).isInt() ? std::optional(static_cast<at::ScalarType>(stack[1].toInt())) : std::nullopt;
            const AutocastIn autocast(type, stack.at(2).toBool(), cache);
            stack = step.graphs[0]->run({stack.begin() + 4, stack.end()}, fixed);
            return;
        }
    }
}

void ExecutionPlan::keep(const Step& step, std::vector<IValue>& stack, std::vector<IValue>& values) {
    if (stack.size() < step.results.size()) throw Fault("gives fewer results than the file states");
    for (std::size_t i = 0; i < step.results.size(); ++i) {
        const std::vector<int>& slots = step.results[i];
        if (!step.result_is_list[i]) {
            if (!slots.empty()) values[static_cast<std::size_t>(slots[0])] = std::move(stack[i]);
            continue;
        }
        std::vector<at::Tensor> list = stack[i].toTensorVector();
        if (list.size() != slots.size()) throw Fault("gives a different number of tensors than the file states");
        for (std::size_t k = 0; k < list.size(); ++k) values[static_cast<std::size_t>(slots[k])] = std::move(list[k]);
    }
}

std::vector<IValue> ExecutionPlan::run(std::vector<IValue> inputs, const Protected& fixed) const {
    FEDHIVE_CHECK_EQ(inputs.size(), inputs_.size());
    std::vector<IValue> values(num_slots_), stack;
    for (std::size_t i = 0; i < inputs.size(); ++i) values[static_cast<std::size_t>(inputs_[i])] = std::move(inputs[i]);
    std::size_t place = 0;
    try {
        for (; place < steps_.size(); ++place) {
            const Step& step = steps_[place];
            stack.assign(step.arguments.begin(), step.arguments.end());
            for (const ArgumentSlot& argument_slot : step.argument_slots) fill(argument_slot, values, stack[argument_slot.at]);
            call(step, stack, fixed);
            keep(step, stack, values);
            for (const int slot : step.last_used) values[static_cast<std::size_t>(slot)] = IValue();
        }
    } catch (c10::Error& error) {
        error.add_context("in " + steps_[place].target);
        throw;
    } catch (const Fault& fault) {
        throw Fault(steps_[place].target + ": " + fault.what());
    }
    std::vector<IValue> outputs;
    for (const int slot : outputs_) outputs.push_back(values[static_cast<std::size_t>(slot)]);
    return outputs;
}

}  // namespace fedhive::clients::exported
