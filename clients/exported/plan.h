// A graph made ready: every argument converted once by its operation's schema, so that a pass fills in values and calls LibTorch's dispatcher, where
// autograd records as it does for any other code.
#pragma once

#include "clients/exported/kernel_checks.h"
#include "clients/exported/program.h"
#include "clients/exported/symbols.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <optional>
#include <unordered_map>

namespace fedhive::clients::exported {

/// The two passes that one graph comes to. In evaluation its dropout and norms do not train, and what is moved stays.
enum class Pass : std::uint8_t { Training, Evaluation };

/// Values of the graph that are tensors of the file, or the input: what may be written.
enum class Writable : std::uint8_t {
    Never,   // parameters, constants, the input
    Moved,   // in training; in evaluation the write is left out
    LeftOut  // a counter: the write is left out in any case
};
using Writables = std::unordered_map<std::string, Writable>;

/// Storages that no operation may write to, by whatever view it got at them.
using Protected = std::vector<const c10::StorageImpl*>;

class Plan {
public:
    /// Throws ConfigError for a graph that does not fit the schemas of its operations; names them.
    Plan(const Graph& graph, const Writables& writables, Pass pass);

    /// inputs: as many as the graph has. Throws what LibTorch throws, with the operation's name added.
    std::vector<c10::IValue> run(std::vector<c10::IValue> inputs, const Protected& fixed) const;

    /// Where a step's argument comes from at each pass.
    struct Hole {
        enum class Kind : std::uint8_t { Value, Real, Tensor, Tensors, OptionalTensors, Integers };
        std::size_t at;
        Kind kind;
        std::vector<int> slots;  // -1: none, or a number in `integers`
        std::vector<std::int64_t> integers{};
    };

    struct Step {
        enum class Kind : std::uint8_t { Call, Symbol, Gradient, Autocast, Condition };
        Kind kind = Kind::Call;
        std::string target;
        std::optional<c10::OperatorHandle> operation{};
        KernelCheck check = nullptr;
        SymbolFunction symbol = nullptr;
        std::vector<c10::IValue> arguments{};  // what is the same in each pass
        std::vector<Hole> holes{};
        std::vector<std::size_t> written{};  // places of arguments that it writes to
        std::vector<std::vector<int>> results{};
        std::vector<bool> result_is_list{};
        bool zeroed = false;           // returns memory that nobody has written
        std::vector<int> last_used{};  // slots that nobody needs after it
        std::vector<std::unique_ptr<Plan>> graphs{};
    };

private:
    friend class PlanBuilder;

    static void fill(const Hole& hole, const std::vector<c10::IValue>& values, c10::IValue& argument);
    static void call_kernel(const Step& step, std::vector<c10::IValue>& stack);
    void call(const Step& step, std::vector<c10::IValue>& stack, const Protected& fixed) const;
    static void keep(const Step& step, std::vector<c10::IValue>& stack, std::vector<c10::IValue>& values);

    std::vector<Step> steps_;
    std::vector<int> inputs_, outputs_;
    std::size_t num_slots_ = 0;
};

/// A number as PyTorch takes it where a tensor is wanted: it does not decide the result's type.
c10::IValue wrapped_number(const c10::IValue& number);

/// PyTorch's type of a number in files. Throws ConfigError for one that is not known.
at::ScalarType scalar_type_of(int dtype);

}  // namespace fedhive::clients::exported
