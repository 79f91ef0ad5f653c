#include "clients/models/graph_call.h"

#include "clients/exported/operations.h"
#include "clients/exported/refusal.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace fedhive::clients {

using exported::Argument;
using exported::shown;
using Kind = Argument::Kind;

void GraphCall::refuse(const std::string& why) const {
    const std::string& target = node_.target;
    const std::string name = target.starts_with(exported::kAten) ? "aten." + target.substr(exported::kAten.size()) : target;
    const std::string result = node_.outputs.empty() ? "" : fmt::format(" ({})", shown(node_.outputs.front().text));
    throw NoLayer(fmt::format("{}{} {}", name, result, why));
}

const Argument* GraphCall::asked(const std::string& name) {
    asked_.insert(name);
    const Argument* argument = node_.input(name);
    return argument == nullptr || argument->kind == Kind::None ? nullptr : argument;
}

std::string GraphCall::tensor(const std::string& name) {
    const Argument* argument = asked(name);
    if (argument == nullptr) return "";
    if (argument->kind != Kind::Tensor) refuse(fmt::format("takes as {} a value that is not a tensor", name));
    return argument->text;
}

std::int64_t GraphCall::integer(const std::string& name, std::int64_t otherwise) {
    const Argument* argument = asked(name);
    if (argument == nullptr) return otherwise;
    if (argument->kind != Kind::Int) refuse(fmt::format("takes as {} a value that is not a number in the file", name));
    return argument->number;
}

double GraphCall::real(const std::string& name, double otherwise) {
    const Argument* argument = asked(name);
    if (argument == nullptr) return otherwise;
    if (argument->kind == Kind::Int) return static_cast<double>(argument->number);
    if (argument->kind != Kind::Float) refuse(fmt::format("takes as {} a value that is not a number in the file", name));
    return argument->real;
}

bool GraphCall::flag(const std::string& name, bool otherwise) {
    const Argument* argument = asked(name);
    if (argument == nullptr) return otherwise;
    if (argument->kind != Kind::Bool) refuse(fmt::format("takes as {} a value that is neither true nor false", name));
    return argument->number != 0;
}

std::string GraphCall::word(const std::string& name, const std::string& otherwise) {
    const Argument* argument = asked(name);
    if (argument == nullptr) return otherwise;
    if (argument->kind != Kind::Text) refuse(fmt::format("takes as {} a value that is not a word", name));
    return argument->text;
}

std::vector<std::int64_t> GraphCall::integers(const std::string& name) {
    const Argument* argument = asked(name);
    if (argument == nullptr) return {};
    if (argument->kind == Kind::Int) return {argument->number};
    if (argument->kind != Kind::Ints) refuse(fmt::format("takes as {} values that are not numbers in the file", name));
    return argument->ints;
}

std::vector<std::string> GraphCall::tensors(const std::string& name) {
    const Argument* argument = asked(name);
    if (argument == nullptr) return {};
    if (argument->kind == Kind::Tensor) return {argument->text};
    if (argument->kind != Kind::Tensors || std::ranges::count(argument->names, "") > 0)
        refuse(fmt::format("takes as {} values that are not tensors", name));
    return argument->names;
}

std::int64_t GraphCall::side(const std::string& name, std::int64_t otherwise) {
    const std::vector<std::int64_t> sides = integers(name);
    if (sides.empty()) return otherwise;
    if (std::ranges::any_of(sides, [&](std::int64_t one) { return one != sides.front(); }) || sides.size() > 2)
        refuse(fmt::format("has {} [{}], but layers are square", name, fmt::join(sides, ", ")));
    return sides.front();
}

void GraphCall::check_all_asked() const {
    for (const exported::NamedArgument& argument : node_.inputs)
        if (!asked_.contains(argument.name) && argument.value.kind != Kind::None)
            refuse(fmt::format("has the argument {}, which layers do not have", shown(argument.name)));
}

}  // namespace fedhive::clients
