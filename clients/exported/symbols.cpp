#include "clients/exported/symbols.h"

#include "aggregation/base/error.h"

#include <ATen/core/Tensor.h>

#include <cmath>
#include <limits>
#include <map>

namespace fedhive::clients::exported {

namespace {

using c10::IValue;
using Operands = std::vector<IValue>;
using Integer = std::int64_t;

double real(const IValue& value) {
    if (value.isDouble()) return value.toDouble();
    return value.isBool() ? (value.toBool() ? 1.0 : 0.0) : static_cast<double>(value.toInt());
}

bool are_integers(const Operands& operands) { return operands.at(0).isInt() && operands.at(1).isInt(); }

Integer checked(bool overflows, Integer result) {
    if (overflows) throw Fault("a size in the exported graph does not fit in 64 bits");
    return result;
}

template <auto OfIntegers, auto OfReals>
IValue of_two(const Operands& operands) {
    if (are_integers(operands)) return OfIntegers(operands[0].toInt(), operands[1].toInt());
    return OfReals(real(operands.at(0)), real(operands.at(1)));
}

Integer add(Integer a, Integer b) {
    Integer result = 0;
    const bool overflows = __builtin_add_overflow(a, b, &result);
    return checked(overflows, result);
}
Integer subtract(Integer a, Integer b) {
    Integer result = 0;
    const bool overflows = __builtin_sub_overflow(a, b, &result);
    return checked(overflows, result);
}
Integer multiply(Integer a, Integer b) {
    Integer result = 0;
    const bool overflows = __builtin_mul_overflow(a, b, &result);
    return checked(overflows, result);
}

/// Floor division, as Python's //.
Integer divide(Integer a, Integer b) {
    if (b == 0) throw Fault("a size in the exported graph is divided by zero");
    if (b == -1) return subtract(0, a);
    const Integer quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
Integer remainder(Integer a, Integer b) { return b == -1 ? 0 : a - divide(a, b) * b; }

Integer truncated(double value) {
    if (!(std::abs(value) < 9e18)) checked(true, 0);
    return static_cast<Integer>(value);
}

template <typename Compare>
IValue compare(const Operands& operands, Compare holds) {
    if (are_integers(operands)) return holds(operands[0].toInt(), operands[1].toInt());
    return holds(real(operands.at(0)), real(operands.at(1)));
}

IValue negative(const Operands& operands) {
    if (operands.at(0).isInt()) return subtract(0, operands[0].toInt());
    return -real(operands[0]);
}

IValue truncate(const Operands& operands) {
    return operands.at(0).isInt() ? operands[0] : IValue(truncated(real(operands[0])));
}

}  // namespace

SymbolFunction symbol_of(const std::string& target) {
    static const std::map<std::string, SymbolFunction> table{
        {"_operator.add", of_two<add, [](double a, double b) { return a + b; }>},
        {"_operator.sub", of_two<subtract, [](double a, double b) { return a - b; }>},
        {"_operator.mul", of_two<multiply, [](double a, double b) { return a * b; }>},
        {"_operator.floordiv", of_two<divide, [](double a, double b) { return std::floor(a / b); }>},
        {"_operator.mod", of_two<remainder, [](double a, double b) { return a - std::floor(a / b) * b; }>},
        {"torch.sym_max",
         of_two<[](Integer a, Integer b) { return std::max(a, b); }, [](double a, double b) { return std::max(a, b); }>},
        {"torch.sym_min",
         of_two<[](Integer a, Integer b) { return std::min(a, b); }, [](double a, double b) { return std::min(a, b); }>},
        {"_operator.truediv", [](const Operands& o) -> IValue { return real(o.at(0)) / real(o.at(1)); }},
        {"_operator.eq", [](const Operands& o) { return compare(o, std::equal_to<>()); }},
        {"_operator.ne", [](const Operands& o) { return compare(o, std::not_equal_to<>()); }},
        {"_operator.lt", [](const Operands& o) { return compare(o, std::less<>()); }},
        {"_operator.le", [](const Operands& o) { return compare(o, std::less_equal<>()); }},
        {"_operator.gt", [](const Operands& o) { return compare(o, std::greater<>()); }},
        {"_operator.ge", [](const Operands& o) { return compare(o, std::greater_equal<>()); }},
        {"_operator.neg", negative},
        {"torch.sym_float", [](const Operands& o) -> IValue { return real(o.at(0)); }},
        {"torch.sym_int", truncate},
        {"math.trunc", truncate},
        {"torch.sym_not", [](const Operands& o) -> IValue { return !o.at(0).toBool(); }},
        {"torch.ops.aten.sym_size.int", [](const Operands& o) -> IValue { return o.at(0).toTensor().size(o.at(1).toInt()); }},
        {"torch.ops.aten.sym_numel.default", [](const Operands& o) -> IValue { return o.at(0).toTensor().numel(); }}};
    const auto found = table.find(target);
    return found == table.end() ? nullptr : found->second;
}

}  // namespace fedhive::clients::exported
