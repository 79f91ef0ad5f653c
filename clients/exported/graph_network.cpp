#include "clients/exported/graph_network.h"

#include "clients/exported/refusal.h"

#include <ATen/ops/from_blob.h>

#include <map>

namespace fedhive::clients::exported {

namespace {

at::Tensor load(const Program& program, const StoredTensor& tensor) {
    std::string values = program.values_of(tensor);
    return at::from_blob(values.data(), tensor.sizes, scalar_type_of(tensor.dtype)).clone();
}

Writables writables_of(const Program& program) {
    Writables writables{{program.graph.inputs.back().text, Writable::Never}};
    for (const StoredTensor& tensor : program.tensors)
        writables[tensor.value] = tensor.role == Role::Moved     ? Writable::Moved
                                  : tensor.role == Role::Counter ? Writable::LeftOut
                                                                 : Writable::Never;
    return writables;
}

const c10::StorageImpl* storage_of(const at::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }

}  // namespace

GraphNetwork::GraphNetwork(const Program& program, const ExampleShape& example, FrozenValues frozen)
    : input_(program.input), takes_tokens_(program.takes_tokens) {
    if (!takes(program, example))
        refuse("takes examples of another shape than the data's");  // callers report it earlier, in detail
    std::map<std::size_t, std::size_t> places;                      // index of a program's tensor -> index in held_
    const auto hold = [&](Role role) {
        const std::size_t before = held_.size();
        for (std::size_t i = 0; i < program.tensors.size(); ++i) {
            const StoredTensor& tensor = program.tensors[i];
            if (tensor.role != role || tensor.same_as != i) continue;
            places[i] = held_.size();
            const bool later = role == Role::Frozen && frozen == FrozenValues::ToBeSet;
            held_.push_back(later ? at::Tensor() : load(program, tensor).set_requires_grad(role == Role::Trained));
        }
        return held_.size() - before;
    };
    num_parameters_ = hold(Role::Trained);
    num_moved_ = hold(Role::Moved);
    num_frozen_ = hold(Role::Frozen);
    hold(Role::Counter);
    hold(Role::Constant);
    for (const StoredTensor& tensor : program.tensors) order_.push_back(places.at(tensor.same_as));
    const Writables writables = writables_of(program);
    training_ = std::make_unique<ExecutionPlan>(program.graph, writables, GraphMode::Training);
    evaluation_ = std::make_unique<ExecutionPlan>(program.graph, writables, GraphMode::Evaluation);
}

at::Tensor GraphNetwork::forward(const at::Tensor& examples, bool training) const {
    std::vector<std::int64_t> sizes{examples.size(0)};
    sizes.insert(sizes.end(), input_.begin(), input_.end());
    const at::Tensor values = examples.reshape(sizes), input = takes_tokens_ ? values.to(at::kLong) : values;
    Protected fixed{storage_of(input)};
    for (std::size_t i = 0; i < held_.size(); ++i) {
        const bool moved = i >= num_parameters_ && i < num_parameters_ + num_moved_;
        if (!moved || !training) fixed.push_back(storage_of(held_[i]));
    }
    std::vector<c10::IValue> inputs;
    inputs.reserve(order_.size() + 1);
    for (const std::size_t place : order_) inputs.emplace_back(held_[place]);
    inputs.emplace_back(input);
    const at::Tensor scores = (training ? training_ : evaluation_)->run(std::move(inputs), fixed).at(0).toTensor();
    return scores.scalar_type() == at::kFloat ? scores : scores.to(at::kFloat);
}

std::vector<at::Tensor*> GraphNetwork::places(std::size_t first, std::size_t count) {
    std::vector<at::Tensor*> tensors;
    for (std::size_t i = first; i < first + count; ++i) tensors.push_back(&held_[i]);
    return tensors;
}

}  // namespace fedhive::clients::exported
