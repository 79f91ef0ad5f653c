// What a network of the direct engine is made of: operations on examples, forward and back. Images lie pixel by pixel, channels side by side.
#pragma once

#include "aggregation/math/client_optimizer.h"
#include "clients/direct/kernels.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace fedhive::clients::direct {

/// What parameters are stepped by as soon as their gradient is there.
struct Descent {
    float* parameters = nullptr;  // [P], written where they are trainable
    aggregation::ClientOptimizer* optimizer = nullptr;
    const float* from = nullptr;  // [P]: what is stepped, and read by the pass, where that is not `parameters`

    const float* before() const { return from != nullptr ? from : parameters; }
};

/// Floats [first, first + size) of the parameters.
struct Range {
    std::size_t first = 0, size = 0;
};

class Op;

/// What a part of a step is for.
enum class Part : std::uint8_t { Forward, DataGradient, WeightGradient, Loss, Optimizer };

/// Who is told where a step goes. Sections may lie within others.
class Profiler {
public:
    Profiler() = default;
    Profiler(const Profiler&) = delete;
    Profiler& operator=(const Profiler&) = delete;
    virtual ~Profiler() = default;
    virtual void enter(const Op* op, Part part) = 0;  // null: the network's own work
    virtual void leave() = 0;
};

/// What a pass over a batch is done with; the pointers hold until its end.
struct Pass {
    const Kernels* kernels = nullptr;
    const float* parameters = nullptr;  // [P]
    float* gradient = nullptr;          // [trainable]; backward alone
    bool training = true;               // dropout acts
    std::uint64_t dropout_key = 0;      // of this batch
    const Descent* descent = nullptr;   // backward steps what fused_parameters() names, in place of writing its gradient
    Profiler* profiler = nullptr;       // told of each section, or nobody is
};

/// From here to the end of its scope.
class ProfileScope {
public:
    ProfileScope(const Pass& pass, const Op* op, Part part) : profiler_(pass.profiler) {
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
struct Rows {
    std::size_t first = 0, count = 0;
};

/// An operation's neighbours, at the first of some rows: what comes in, what went out, the gradients of both.
struct Flow {
    const float* x = nullptr;
    const float* y = nullptr;
    float* y_gradient = nullptr;  // may be changed
    float* x_gradient = nullptr;  // null: nobody asks for it
};

/// One step of some parameters along their gradient, [range.size].
void step(const Descent& descent, Range range, const float* gradient);

class Op {
public:
    Op(std::size_t inputs, std::size_t outputs) : inputs_(inputs), outputs_(outputs) {}
    Op(const Op&) = delete;
    Op& operator=(const Op&) = delete;
    virtual ~Op() = default;

    std::size_t inputs() const { return inputs_; }    // floats of an example
    std::size_t outputs() const { return outputs_; }  // likewise

    /// The layers that it does, by their numbers in the model's list; none where it brings values into another order.
    const std::vector<std::string>& layers() const { return layers_; }
    void does(std::vector<std::string> layers) { layers_ = std::move(layers); }

    /// Room for batches of so many examples, of which at most `group` go back at once.
    virtual void reserve([[maybe_unused]] std::size_t examples, [[maybe_unused]] std::size_t group) {}

    virtual bool has_parameters() const { return false; }

    /// What is done once for a batch, before any of its examples: parameters into the order that is read.
    virtual void begin(const Pass&) {}

    /// x [count][inputs] to y [count][outputs]. An example's values depend on nothing but itself.
    virtual void forward(const Pass& pass, const float* x, float* y, Rows rows) = 0;

    virtual void begin_backward(const Pass&) {}

    /// Writes flow.x_gradient and adds to the parameters' gradient, rows in ascending order; the latter in sections of its own where it is
    /// a product.
    virtual void backward(const Pass& pass, const Flow& flow, Rows rows) = 0;

    /// Writes the parameters' gradient where it was kept in another order.
    virtual void end_backward(const Pass&) {}

    /// Appends the parameters that backward() steps while their gradient is near, where the pass has a descent. Only for operations that get
    /// their whole batch at once.
    virtual void fused_parameters(std::vector<Range>&) const {}

private:
    std::size_t inputs_, outputs_;
    std::vector<std::string> layers_;
};

/// Memory that begins where a cache line does: a vector that reaches into a second one is loaded twice.
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

/// Operations one after the other, with what goes between them. A chain without operations gives what comes in: its layers leave values as they
/// lie.
class Chain {
public:
    /// inputs: floats of an example
    explicit Chain(std::size_t inputs) : inputs_(inputs) {}

    void add(std::unique_ptr<Op> op) { ops_.push_back(std::move(op)); }
    std::size_t size() const { return ops_.size(); }
    Op& last() { return *ops_.back(); }
    bool empty() const { return ops_.empty(); }
    std::size_t inputs() const { return inputs_; }
    std::size_t outputs() const { return ops_.empty() ? inputs_ : ops_.back()->outputs(); }

    void reserve(std::size_t examples, std::size_t group);
    void begin(const Pass& pass);

    /// x: at rows.first. Returns what the rows become, [count][outputs], until they go forward again; x itself where there are no operations.
    const float* forward(const Pass& pass, const float* x, Rows rows);

    void begin_backward(const Pass& pass);

    bool has_parameters() const { return first_with_parameters() < ops_.size(); }

    /// x and y_gradient: at rows.first; x_gradient likewise, or null: then no further than to the first parameters.
    void backward(const Pass& pass, const float* x, float* y_gradient, float* x_gradient, Rows rows);
    void end_backward(const Pass& pass);
    void fused_parameters(std::vector<Range>& ranges) const;

private:
    std::size_t first_with_parameters() const;

    std::size_t inputs_;
    std::vector<std::unique_ptr<Op>> ops_;
    std::vector<Floats> values_;     // of each operation, [examples][outputs]
    std::vector<Floats> gradients_;  // of what goes into each but the first, [group][inputs]
};

}  // namespace fedhive::clients::direct
