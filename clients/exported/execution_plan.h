// A graph prepared for execution: each argument is converted once, by its operation's schema. A pass only fills in values and
// calls LibTorch's dispatcher, where autograd records as for any other code.
#pragma once

#include "clients/exported/kernel_checks.h"
#include "clients/exported/program.h"
#include "clients/exported/symbols.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <optional>
#include <unordered_map>

namespace fedhive::clients::exported {

/// The two modes of a graph. In evaluation, dropout and norms run in evaluation mode, and buffers of Role::Moved stay unchanged.
enum class GraphMode : std::uint8_t { Training, Evaluation };

/// Whether the graph may write to a value that is a tensor of the file, or the input.
enum class Writable : std::uint8_t {
    Never,   // parameters, constants, the input
    Moved,   // written in training; in evaluation the write is left out
    LeftOut  // a counter: the write is always left out
};
using Writables = std::unordered_map<std::string, Writable>;

/// Storages that no operation may write to, not even through a view.
using Protected = std::vector<const c10::StorageImpl*>;

class ExecutionPlan {
public:
    /// Throws ConfigError, naming the operation, for a graph that does not match the schemas of its operations.
    ExecutionPlan(const Graph& graph, const Writables& writables, GraphMode pass);

    /// inputs: one per input of the graph. Throws LibTorch's exceptions, with the operation's name added.
    std::vector<c10::IValue> run(std::vector<c10::IValue> inputs, const Protected& fixed) const;

    /// An argument of a step that is filled from values in each pass.
    struct ArgumentSlot {
        enum class Kind : std::uint8_t { Value, Real, Tensor, Tensors, OptionalTensors, Integers };
        std::size_t at;  // index of the argument
        Kind kind;
        std::vector<int> slots;  // indices of values; -1: None, or a number in `integers`
        std::vector<std::int64_t> integers{};
    };

    struct Step {
        enum class Kind : std::uint8_t { Call, Symbol, Gradient, Autocast, Condition };
        Kind kind = Kind::Call;
        std::string target;
        std::optional<c10::OperatorHandle> operation{};
        KernelCheck check = nullptr;
        SymbolFunction symbol = nullptr;
        std::vector<c10::IValue> arguments{};  // arguments that are the same in each pass
        std::vector<ArgumentSlot> argument_slots{};
        std::vector<std::size_t> written{};  // indices of arguments that the operation writes to
        std::vector<std::vector<int>> results{};
        std::vector<bool> result_is_list{};
        bool zeroed = false;           // the result is uninitialised memory and must be zeroed
        std::vector<int> last_used{};  // slots whose values are not needed after this step
        std::vector<std::unique_ptr<ExecutionPlan>> graphs{};
    };

private:
    friend class PlanBuilder;

    static void fill(const ArgumentSlot& argument_slot, const std::vector<c10::IValue>& values, c10::IValue& argument);
    static void call_kernel(const Step& step, std::vector<c10::IValue>& stack);
    void call(const Step& step, std::vector<c10::IValue>& stack, const Protected& fixed) const;
    static void keep(const Step& step, std::vector<c10::IValue>& stack, std::vector<c10::IValue>& values);

    std::vector<Step> steps_;
    std::vector<int> inputs_, outputs_;
    std::size_t num_slots_ = 0;
};

/// A number as a tensor argument, in PyTorch's way: it does not determine the result's type.
c10::IValue wrapped_number(const c10::IValue& number);

/// The scalar type for PyTorch's dtype number in files. Throws ConfigError for an unknown number.
at::ScalarType scalar_type_of(int dtype);

}  // namespace fedhive::clients::exported
