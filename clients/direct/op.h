// Operations on examples, forward and backward: the parts of a direct engine's network. Images are stored [height][width][channels].
// [P] is the model's flat vector, whose first [trainable] floats are trained; [F] is that of its frozen parameters.
#pragma once

#include "aggregation/math/client_optimizer.h"
#include "clients/direct/kernels.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace fedhive::clients::direct {

/// Floats [first, first + size) of the parameters.
struct ParameterRange {
    std::size_t first = 0, size = 0;
};

/// Changes the gradient of a range, [range.size], whose values before the step are in Descent::parameters.
using ChangeGradient = std::function<void(ParameterRange range, float* gradient)>;

/// The optimizer step that a pass does as soon as a gradient is complete.
struct Descent {
    float* parameters = nullptr;  // [P]; the trainable ones are written
    aggregation::ClientOptimizer* optimizer = nullptr;
    const float* from = nullptr;             // [P]: the values before the step, which the pass reads; null: `parameters`
    const ChangeGradient* change = nullptr;  // applied to each gradient before its step; null: none

    const float* before() const { return from != nullptr ? from : parameters; }
};

class Op;

/// Flag in a tensor's offset: the tensor is one of the frozen parameters, [F].
inline constexpr std::size_t kFrozen = std::size_t{1} << 62;
inline bool is_frozen(std::size_t offset) { return (offset & kFrozen) != 0; }

/// The phases of a step that a profiler tells apart.
enum class StepPhase : std::uint8_t { Forward, DataGradient, WeightGradient, Loss, Optimizer };

/// An observer that is called at the begin and the end of each phase of an operation; phases nest.
class Profiler {
public:
    Profiler() = default;
    Profiler(const Profiler&) = delete;
    Profiler& operator=(const Profiler&) = delete;
    virtual ~Profiler() = default;
    virtual void enter(const Op* op, StepPhase part) = 0;  // op null: the network's own work
    virtual void leave() = 0;
};

/// The arguments of a pass over a batch; the pointers stay valid until its end.
struct Pass {
    const Kernels* kernels = nullptr;
    const float* parameters = nullptr;  // [P]
    const float* frozen = nullptr;      // [F]
    float* gradient = nullptr;          // [trainable]; backward alone
    float* moved = nullptr;             // [P]: training updates its BatchNorm buffers; may be `parameters`; null: no update
    bool training = true;               // false: no dropout
    std::uint64_t dropout_key = 0;      // key of the batch's dropout
    const Descent* descent = nullptr;   // backward steps the fused_parameters() instead of writing their gradient
    Profiler* profiler = nullptr;       // null: none

    /// The values of a tensor.
    const float* values(std::size_t offset) const {
        return is_frozen(offset) ? frozen + (offset & ~kFrozen) : parameters + offset;
    }
    /// The address of a tensor's gradient; null for a frozen tensor.
    float* gradient_of(std::size_t offset) const { return is_frozen(offset) ? nullptr : gradient + offset; }
};

/// Reports a phase to the pass's profiler, from construction to destruction.
class ProfileScope {
public:
    ProfileScope(const Pass& pass, const Op* op, StepPhase part) : profiler_(pass.profiler) {
        if (profiler_ != nullptr) profiler_->enter(op, part);
    }
    ProfileScope(const ProfileScope&) = delete;
    ProfileScope& operator=(const ProfileScope&) = delete;
    ~ProfileScope() {
        if (profiler_ != nullptr) profiler_->leave();
    }

private:
    Profiler* profiler_;
};

/// Examples [first, first + count) of the batch.
struct ExampleRange {
    std::size_t first = 0, count = 0;
};

/// An operation's input x and output y with their gradients; each pointer is at the first of a range of rows (examples).
struct Flow {
    const float* x = nullptr;
    const float* y = nullptr;
    float* y_gradient = nullptr;  // may be overwritten
    float* x_gradient = nullptr;  // null: not needed
};

/// Steps the parameters of `range` by the descent's optimizer; gradient: [range.size], changed in place if the descent changes it.
void step(const Descent& descent, ParameterRange range, float* gradient);

class Op {
public:
    Op(std::size_t inputs, std::size_t outputs) : inputs_(inputs), outputs_(outputs) {}
    Op(const Op&) = delete;
    Op& operator=(const Op&) = delete;
    virtual ~Op() = default;

    std::size_t inputs() const { return inputs_; }    // floats of an example
    std::size_t outputs() const { return outputs_; }  // likewise

    /// The layers that the operation computes, as numbers in the model's list; empty for one that only reorders values.
    const std::vector<std::string>& layers() const { return layers_; }
    void does(std::vector<std::string> layers) { layers_ = std::move(layers); }

    /// Whether some of its parameters are trained. Backward passes end at the first such operation.
    bool is_trained() const { return trained_; }
    void set_trained(bool trained) { trained_ = trained; }

    /// Allocates for batches of `examples`, at most `group` of them in one backward().
    virtual void reserve([[maybe_unused]] std::size_t examples, [[maybe_unused]] std::size_t group) {}

    virtual bool has_parameters() const { return false; }

    /// Whether in training an example's output depends on the whole batch. Then forward() and backward() get all of it at once.
    virtual bool mixes_examples() const { return false; }

    /// Called once per batch, before its examples: brings parameters into the order that forward() reads.
    virtual void begin(const Pass&) {}

    /// y [count][outputs] from x [count][inputs]. Unless it mixes examples, an example's output depends on that example alone.
    virtual void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) = 0;

    virtual void begin_backward(const Pass&) {}

    /// Writes flow.x_gradient and adds to the parameters' gradient, rows in ascending order. A weight gradient that is a matrix product has
    /// its own ProfileScope.
    virtual void backward(const Pass& pass, const Flow& flow, ExampleRange rows) = 0;

    /// Called once per batch, after its examples: writes the parameters' gradient if the operation summed it in an order of its own.
    virtual void end_backward(const Pass&) {}

    /// Appends the parameter ranges that backward() updates itself (fused optimizer step) when the pass carries a descent. Only
    /// for operations that get their whole batch in one backward().
    virtual void fused_parameters(std::vector<ParameterRange>&) const {}

private:
    std::size_t inputs_, outputs_;
    std::vector<std::string> layers_;
    bool trained_ = false;
};

/// Allocates memory aligned to cache lines, since a vector load across two lines takes as long as two loads.
template <typename T>
struct LineAllocator {
    using value_type = T;
    LineAllocator() = default;
    template <typename U>
    explicit(false) LineAllocator(const LineAllocator<U>&) {}
    T* allocate(std::size_t size) { return static_cast<T*>(::operator new(size * sizeof(T), kLine)); }
    void deallocate(T* values, std::size_t) { ::operator delete(values, kLine); }
    bool operator==(const LineAllocator&) const = default;

private:
    static constexpr std::align_val_t kLine{64};
};

using Floats = std::vector<float, LineAllocator<float>>;

/// A sequence of operations and the values between them. An empty chain returns its input: its layers move no values.
class Chain {
public:
    /// inputs: floats of an example
    explicit Chain(std::size_t inputs) : inputs_(inputs) {}

    void add(std::unique_ptr<Op> op) { ops_.push_back(std::move(op)); }
    bool empty() const { return ops_.empty(); }
    std::size_t inputs() const { return inputs_; }
    std::size_t outputs() const { return ops_.empty() ? inputs_ : ops_.back()->outputs(); }

    void reserve(std::size_t examples, std::size_t group);
    void begin(const Pass& pass);

    /// x: at rows.first. Returns the rows' output, [count][outputs], valid until their next forward(); x itself for an empty
    /// chain.
    const float* forward(const Pass& pass, const float* x, ExampleRange rows);

    void begin_backward(const Pass& pass);

    bool has_parameters() const { return last_with_parameters() < ops_.size(); }
    bool is_trained() const { return first_trained() < ops_.size(); }
    bool mixes_examples() const;

    /// The input of the last operation with parameters, [count][features()], after forward() of the whole batch; x: the batch's. Null
    /// if there is none.
    const float* features_of(const float* x) const;
    std::size_t features() const;

    /// Backward pass of the rows. x, y_gradient and x_gradient: at rows.first. If x_gradient is null, the pass ends at the first operation
    /// that is trained. features_gradient: null, or [count][features()], which is added to the gradient of features_of().
    void backward(const Pass& pass, const float* x, float* y_gradient, float* x_gradient, ExampleRange rows,
                  const float* features_gradient = nullptr);
    void end_backward(const Pass& pass);
    void fused_parameters(std::vector<ParameterRange>& ranges) const;

private:
    std::size_t first_trained() const;
    std::size_t last_with_parameters() const;

    std::size_t inputs_;
    std::vector<std::unique_ptr<Op>> ops_;
    std::vector<Floats> values_;  // [operation]: outputs, [examples][outputs]
    Floats gradients_[2];         // input gradients of even and of odd operations, [group][largest inputs]
};

}  // namespace fedhive::clients::direct
