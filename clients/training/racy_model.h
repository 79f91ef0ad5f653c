// The one model that all workers of Hogwild train at once, in shared memory and without a lock. The race is meant; it is confined to the
// two functions of this file.
//
//   who races    every worker, with every other: each reads the whole model before a forward pass, while others write it, and adds its step
//                to the whole model, while others read and write it. Whoever evaluates or copies the model meanwhile races as well.
//   what is read floats of different ages, in any mixture: no order is promised between one parameter and the next. Never a float that
//                nobody wrote: x86 and ARM load and store an aligned 32-bit word as one, in each lane of a vector too, and the loops
//                of vector_ops.h, with the C library's memmove of aligned spans, are made of such words.
//   what is lost the paper assumes that adding to one component is atomic (Niu et al. 2011, section 2). Here `p -= lr * g` is a load, a
//                subtraction and a store, so when two workers change the same parameter at the same moment one of the two changes can be lost.
//                A lost one is a smaller step; nothing accumulates, since the next step starts from what stands there.
//                With a few hundred parameters, whose steps are short, three threads were seen to get no further than one.
//   why tolerated the paper proves convergence where steps are sparse. A neural network's are dense, and no proof covers it; that it works
//                is an observation. Locks, or atomic adds on [P] floats a step, would cost more than the step.
//   the standard C++ calls this undefined between threads. Those who race here are processes, each compiled as if it were alone, and a
//                compiler that keeps a parameter in a register for the length of a loop does no harm: that is an older float.
//
// A run is therefore not repeatable with more than one worker. What is not shared: the gradient, the optimiser's state, and the model's buffers.
#pragma once

#include "aggregation/math/client_optimizer.h"
#include "aggregation/memory/param_span.h"

namespace fedhive::clients {

/// Source: Niu et al. 2011, "Hogwild!: A lock-free approach to parallelizing stochastic gradient descent" (arXiv:1106.5730), Algorithm 1.
class RacyModel {
public:
    RacyModel() = default;
    explicit RacyModel(aggregation::ParamSpan model) : model_(model) {}
    explicit operator bool() const { return model_.size > 0; }

    /// to[i] = model[i], for a prefix of the model, in no particular order.
    void read(aggregation::ParamSpan to) const { aggregation::copy(to, model_.first(to.size)); }

    /// A step of the prefix that has a gradient; the optimiser's state is the caller's own.
    void step(aggregation::ConstParamSpan gradient, aggregation::ClientOptimizer& optimizer) const {
        optimizer.step(model_.first(gradient.size), gradient);
    }

private:
    aggregation::ParamSpan model_;
};

}  // namespace fedhive::clients
