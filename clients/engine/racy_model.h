// The model that all workers train at once in mode hogwild, in shared memory and without a lock. The data race is intended, and only the
// two functions of this file race.
//
//   Racing       All workers race with each other: each reads the whole model before a forward pass, while others write it, and
//                adds its step to the whole model, while others read and write it. A process that evaluates or copies the model
//                races as well.
//   Reads        A read gives floats of different ages in any mixture, without an order between parameters, but never a torn
//                float: x86 and ARM load and store an aligned 32-bit word at once, also in each SIMD lane, and the loops of
//                vector_ops.h and the C library's memmove of aligned spans consist of such words.
//   Lost writes  The paper assumes that adding to one component is atomic (Niu et al. 2011, section 2). Here `p -= lr * g` is a
//                load, a subtraction and a store: if two workers change the same parameter at the same time, one change can be
//                lost. The step is then smaller; no error accumulates, since the next step starts from the stored value. With
//                models of a few hundred parameters, whose steps are short, three threads trained no faster than one.
//   Why allowed  The paper proves convergence for sparse steps. A neural network's steps are dense, and no proof covers them;
//                that it works is an observation. Locks, or one atomic add per parameter and step, would cost more than the step.
//   In C++       A data race between threads is undefined behaviour. Here processes race, each compiled as if it were alone. A
//                compiler that keeps a parameter in a register for the length of a loop does no harm: that is an older float.
//
// A run with more than one worker is therefore not repeatable. Not shared: the gradient, the optimiser's state, the model's
// buffers.
#pragma once

#include "aggregation/math/client_optimizer.h"
#include "aggregation/memory/param_span.h"

namespace fedhive::clients {

/// Source: Niu et al. 2011, "Hogwild!: A lock-free approach to parallelizing stochastic gradient
/// descent" (arXiv:1106.5730), Algorithm 1.
class RacyModel {
public:
    RacyModel() = default;
    explicit RacyModel(aggregation::ParamSpan model) : model_(model) {}
    explicit operator bool() const { return model_.size > 0; }

    /// to[i] = model[i] for the prefix of the model that is as long as `to`, in no particular order.
    void read(aggregation::ParamSpan to) const { aggregation::copy(to, model_.first(to.size)); }

    /// Steps the prefix of the model that is as long as `gradient`; the caller owns the optimiser's state.
    void step(aggregation::ConstParamSpan gradient, aggregation::ClientOptimizer& optimizer) const {
        optimizer.step(model_.first(gradient.size), gradient);
    }

private:
    aggregation::ParamSpan model_;
};

}  // namespace fedhive::clients
