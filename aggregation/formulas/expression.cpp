#include "aggregation/formulas/expression.h"

#include "aggregation/formulas/functions.h"
#include "aggregation/formulas/row_functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace fedhive::aggregation::formulas {

namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Whether a formula of parameters can combine two values: both by class have the same shape, or one is a number for each class and
/// counts for its row of the other.
bool meets_by_class(Shape one, Shape other) {
    const auto [low, high] = std::minmax(one, other);
    return high < Shape::Classes || low == high || low == Shape::Number || (low == Shape::Classes && is_table(high));
}

class Parser {
public:
    Parser(std::span<const std::string> lines, const Scope& scope) : lines_(lines), scope_(scope) {
        std::size_t bytes = 0;
        for (const std::string& line : lines) bytes += line.size() + 1;
        if (bytes > kLongestText) fail(fmt::format("the formulas have {} characters, {} are allowed", bytes, kLongestText));
    }

    Formulas parse() {
        for (line_ = 0; line_ < lines_.size(); ++line_) {
            text_ = lines_[line_];
            at_ = 0;
            parse_line();
        }
        return std::move(formulas_);
    }

private:
    void parse_line() {
        std::string name = word();
        const bool is_let = name == "let";
        if (is_let) name = word();
        expect('=');
        const std::size_t value = comparison();
        if (peek() != '\0') fail_here("the end of the line");
        is_let ? name_value(name, value) : set_target(name, value);
    }

    void name_value(const std::string& name, std::size_t value) {
        if (name.find('.') != std::string::npos) fail(fmt::format("`let {}`: a name may not contain a dot", name));
        if (scope_.given.contains(name) || scope_.targets.contains(name) || !lets_.emplace(name, value).second)
            fail(fmt::format("`let {0}`: '{0}' already has a meaning; choose another name", name));
    }

    void set_target(const std::string& name, std::size_t value) {
        const Shape shape = formulas_.nodes[value].shape;
        const auto found = scope_.targets.find(name);
        if (found == scope_.targets.end()) {
            if (!scope_.numbers || scope_.given.contains(name) || lets_.contains(name) || name.find('.') != std::string::npos)
                fail_unknown(name, "cannot be set", scope_.targets);
            if (shape != Shape::Number)
                fail(fmt::format("'{}' is {}; allowed here: a number, such as sum_k or mean_k give", name, text_of(shape)));
        } else if (shape != found->second && !(shape == Shape::Number && found->second != Shape::Number)) {
            fail(fmt::format("'{}' is {}, but its formula gives {}", name, text_of(found->second), text_of(shape)));
        }
        for (const Target& other : formulas_.targets)
            if (other.name == name) fail(fmt::format("'{}' is set twice", name));
        formulas_.targets.push_back({name, value, line_, found != scope_.targets.end() && found->second == Shape::Vector,
                                     found != scope_.targets.end() ? found->second : Shape::Number});
    }

    // --- characters

    char peek() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool accept(std::string_view token) {
        peek();
        if (text_.substr(at_, token.size()) != token) return false;
        at_ += token.size();
        return true;
    }
    void expect(char token) {
        if (!accept({&token, 1})) fail_here(fmt::format("'{}'", token));
    }
    std::string word() {
        peek();
        const std::size_t first = at_;
        if (at_ < text_.size() && is_letter(text_[at_]))
            while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
        if (first == at_) fail_here("a name");
        return std::string(text_.substr(first, at_ - first));
    }

    // --- expressions, by precedence

    std::size_t comparison() {
        const std::size_t left = sum();
        for (const auto& [token, op] : {std::pair{"<=", Opcode::AtMost},
                                        {">=", Opcode::AtLeast},
                                        {"==", Opcode::Equal},
                                        {"!=", Opcode::NotEqual},
                                        {"<", Opcode::Less},
                                        {">", Opcode::Greater}})
            if (accept(token)) return make(op, {left, sum()});
        return left;
    }
    std::size_t sum() {
        std::size_t left = product();
        for (;;) {
            if (accept("+"))
                left = make(Opcode::Add, {left, product()});
            else if (accept("-"))
                left = make(Opcode::Subtract, {left, product()});
            else
                return left;
        }
    }
    std::size_t product() {
        std::size_t left = sign();
        for (;;) {
            if (accept("*"))
                left = make(Opcode::Multiply, {left, sign()});
            else if (accept("/"))
                left = make(Opcode::Divide, {left, sign()});
            else if (accept("%"))
                left = make(Opcode::Remainder, {left, sign()});
            else
                return left;
        }
    }
    std::size_t sign() {
        const Deeper deeper(*this);
        return accept("-") ? make(Opcode::Negative, {sign()}) : power();
    }
    std::size_t power() {
        const std::size_t base = atom();
        return accept("^") ? make(Opcode::Power, {base, sign()}) : base;
    }
    std::size_t atom() {
        const Deeper deeper(*this);
        if (accept("(")) {
            const std::size_t inner = comparison();
            expect(')');
            return inner;
        }
        if (is_digit(peek()) || peek() == '.') return number();
        const std::string name = word();
        return accept("(") ? call(name) : value_of(name);
    }

    std::size_t number() {
        double value = 0.0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc()) fail_here("a number");
        at_ = static_cast<std::size_t>(end - text_.data());
        return add({.op = Opcode::Number, .number = value});
    }
    std::size_t value_of(const std::string& name) {
        if (const auto let = lets_.find(name); let != lets_.end()) return let->second;
        const auto found = scope_.given.find(name);
        if (found == scope_.given.end()) {
            Names known = scope_.given;
            for (const auto& [let, node] : lets_) known.emplace(let, formulas_.nodes[node].shape);
            fail_unknown(name, "has no value", known);
        }
        return add({.op = Opcode::Name, .shape = found->second, .name = name});
    }
    std::size_t call(const std::string& name) {
        std::vector<std::size_t> args{comparison()};
        while (accept(",")) args.push_back(comparison());
        expect(')');
        const auto check = [&](std::size_t wanted) {
            if (args.size() != wanted)
                fail(fmt::format("{} takes {} value{}, found {}", name, wanted, wanted == 1 ? "" : "s", args.size()));
        };
        if (scope_.rows) {
            const RowFunction* function = row_function(name);
            if (function == nullptr) fail_no_function(name, row_function_names());
            check(function->args);
            if (is_of_batch(function->op) && !scope_.batch)
                fail(fmt::format("{} is of the examples of a batch; it is allowed only in `loss`", name));
            return of_examples(name, *function, args);
        }
        if (name == "norm") {
            check(1);
            return norm(args[0]);
        }
        if (name == "cos") {
            check(2);
            return make(Opcode::Divide,
                        {make(Opcode::Dot, {args[0], args[1]}), make(Opcode::Multiply, {norm(args[0]), norm(args[1])})});
        }
        const Function* function = function_named(name);
        if (function == nullptr) fail_no_function(name, function_names());
        check(function->args);
        return make(function->op, args);
    }
    /// A function of an example, made of operations.
    std::size_t of_examples(const std::string& name, const RowFunction& function, const std::vector<std::size_t>& args) {
        const auto positive = [&](std::size_t of) {
            const Opcode norm = is_table(formulas_.nodes[of].shape) ? Opcode::NormRows : Opcode::Norm;
            return make(Opcode::Maximum, {make(norm, {of}), add({.op = Opcode::Number, .number = kLeastNorm})});
        };
        const auto of_table = [&](Opcode op, std::size_t arg, Opcode of_rows) {
            return args.size() > arg && is_table(formulas_.nodes[args[arg]].shape) ? of_rows : op;
        };
        if (name == "pick") return make(of_table(Opcode::Pick, 0, Opcode::PickRow), args);
        if (name == "dot") return make(of_table(Opcode::Dot, 1, Opcode::DotRows), args);
        if (name == "norm") return make(of_table(Opcode::Norm, 0, Opcode::NormRows), args);
        if (name == "cos")
            return make(Opcode::Divide, {make(of_table(Opcode::Dot, 1, Opcode::DotRows), {args[0], args[1]}),
                                         make(Opcode::Multiply, {positive(args[0]), positive(args[1])})});
        if (name == "cross_entropy")
            return make(Opcode::Negative, {make(Opcode::Pick, {make(Opcode::LogSoftmax, {args[0]}), args[1]})});
        if (name == "kl")
            return make(Opcode::Sum,
                        {make(Opcode::Multiply, {make(Opcode::Exp, {args[0]}), make(Opcode::Subtract, {args[0], args[1]})})});
        return make(function.op, args);
    }
    std::size_t norm(std::size_t of) { return make(Opcode::Sqrt, {make(Opcode::Dot, {of, of})}); }

    // --- nodes

    std::size_t make(Opcode op, std::span<const std::size_t> args) {
        Node node{.op = op, .num_args = static_cast<std::uint8_t>(args.size())};
        std::copy(args.begin(), args.end(), node.args.begin());
        if (scope_.rows) return add_of_examples(std::move(node));
        for (const std::size_t arg : args) {
            const Shape shape = formulas_.nodes[arg].shape;
            if ((shape == Shape::Cohort && node.shape == Shape::Vector) ||
                (shape == Shape::Vector && node.shape == Shape::Cohort))
                fail(fmt::format("cannot combine {} with {}; sum_k or mean_k turn numbers of a cohort into one",
                                 text_of(node.shape), text_of(shape)));
            if (!meets_by_class(node.shape, shape))
                fail(fmt::format(
                    "cannot combine {} with {}; values by class go with numbers and values by class of their own kind",
                    text_of(node.shape), text_of(shape)));
            node.shape = std::max(node.shape, shape);
        }
        const bool has_elements = node.shape == Shape::Vector || node.shape > Shape::Row;
        if (op == Opcode::Power && has_elements) return power_of_vector(args[0], args[1]);
        if (op == Opcode::Remainder && has_elements) fail("% takes numbers, not vectors");
        if (is_reduction(op)) {
            const bool has_share = op == Opcode::Threshold;
            if (has_share && formulas_.nodes[args[1]].shape != Shape::Number)
                fail(fmt::format("the share of threshold must be a number, found {}", text_of(formulas_.nodes[args[1]].shape)));
            for (const std::size_t arg : has_share ? args.first(1) : args)
                if (formulas_.nodes[arg].shape != Shape::Vector)
                    fail(fmt::format("sum, mean, norm, dot, cos and threshold take vectors, found {}",
                                     text_of(formulas_.nodes[arg].shape)));
            node.shape = Shape::Number;
        }
        if (is_of_products(op)) {
            if (!scope_.products)
                fail(
                    "dot_k, cos_k, distance_k, nearest_k and bipartition_k need a round's updates; they are allowed only in "
                    "`cohort`");
            if (node.shape == Shape::Vector || (op == Opcode::NearestK && node.shape != Shape::Number))
                fail(fmt::format("{}, found {}",
                                 op == Opcode::NearestK ? "nearest_k takes a number of updates"
                                                        : "dot_k, cos_k and distance_k take one number for each update",
                                 text_of(node.shape)));
            node.shape = Shape::Cohort;
        }
        if (is_of_cohort(op)) {
            if (node.shape != Shape::Cohort)
                fail(fmt::format("functions that end with _k take one number for each update, found {}", text_of(node.shape)));
            node.shape = op < Opcode::SoftmaxK ? Shape::Number : Shape::Cohort;
        }
        return add(std::move(node));
    }
    std::size_t make(Opcode op, std::initializer_list<std::size_t> args) {
        return make(op, std::span(args.begin(), args.size()));
    }

    std::size_t add_of_examples(Node node) {
        std::array<const Node*, 3> args{};
        for (std::size_t i = 0; i < node.num_args; ++i) args[i] = &formulas_.nodes[node.args[i]];
        const RowShape found = shape_of_row(node.op, {args.data(), node.num_args});
        if (!found.problem.empty()) fail(found.problem);
        node.shape = found.shape;
        return add(std::move(node));
    }

    /// By one multiplication or a root, else as exp(exponent * log(base)).
    std::size_t power_of_vector(std::size_t base, std::size_t exponent) {
        const Node& of = formulas_.nodes[exponent];
        if (of.op == Opcode::Number && of.number == 2.0) return make(Opcode::Multiply, {base, base});
        if (of.op == Opcode::Number && of.number == 0.5) return make(Opcode::Sqrt, {base});
        return make(Opcode::Exp, {make(Opcode::Multiply, {exponent, make(Opcode::Log, {base})})});
    }

    std::size_t add(Node node) {
        const auto same = std::find(formulas_.nodes.begin(), formulas_.nodes.end(), node);
        if (same != formulas_.nodes.end()) return static_cast<std::size_t>(same - formulas_.nodes.begin());
        if (formulas_.nodes.size() == kMostNodes) fail(fmt::format("more than {} operations", kMostNodes));
        formulas_.nodes.push_back(std::move(node));
        return formulas_.nodes.size() - 1;
    }

    // --- errors

    [[noreturn]] void fail(const std::string& text) const { throw FormulaError(line_, text); }
    [[noreturn]] void fail_here(const std::string& wanted) const {
        fail(fmt::format("'{}': column {}: expected {}", text_, at_ + 1, wanted));
    }
    [[noreturn]] void fail_no_function(const std::string& name, std::vector<std::string> known) const {
        FormulaError error(line_, fmt::format("'{}' is not a function; functions: {}", name, fmt::join(known, ", ")));
        error.unknown = name;
        error.known = std::move(known);
        throw error;
    }
    [[noreturn]] void fail_unknown(const std::string& name, std::string_view what, const Names& names) const {
        std::vector<std::string> known;
        for (const auto& [one, shape] : names) known.push_back(one);
        const bool of_cohort = name.starts_with("k.") && !scope_.targets.contains("weight");
        FormulaError error(
            line_, fmt::format("'{}' {} here; {}{}", name, what,
                               known.empty() ? "no name is allowed" : fmt::format("allowed: {}", fmt::join(known, ", ")),
                               of_cohort ? "; numbers of a cohort are allowed only in `cohort`" : ""));
        error.unknown = name;
        error.known = std::move(known);
        throw error;
    }

    struct Deeper {
        explicit Deeper(Parser& parser) : parser_(parser) {
            if (++parser_.depth_ > 2 * kDeepest)
                parser_.fail(fmt::format("more than {} levels of brackets and signs", kDeepest));
        }
        Deeper(const Deeper&) = delete;
        Deeper& operator=(const Deeper&) = delete;
        ~Deeper() { --parser_.depth_; }
        Parser& parser_;
    };

    std::span<const std::string> lines_;
    const Scope& scope_;
    std::map<std::string, std::size_t, std::less<>> lets_{};
    Formulas formulas_{};
    std::string_view text_{};
    std::size_t line_ = 0, at_ = 0, depth_ = 0;
};

}  // namespace

Formulas parse(std::span<const std::string> lines, const Scope& scope) { return Parser(lines, scope).parse(); }

bool Formulas::reads(std::string_view name) const {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const Node& node) { return node.op == Opcode::Name && node.name == name; });
}

bool Formulas::takes_products() const {
    return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return is_of_products(node.op); });
}

bool Formulas::reduces() const {
    return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return is_reduction(node.op); });
}

std::string_view text_of(Shape shape) {
    switch (shape) {
        case Shape::Number:
            return "a number";
        case Shape::Cohort:
            return "a number for each update";
        case Shape::Vector:
            return "a vector of the model's shape";
        case Shape::Row:
            return "a number for each example";
        case Shape::Classes:
            return "a number for each class";
        case Shape::Features:
            return "a vector of features";
        case Shape::ClassTable:
            return "a table of logits by class";
        case Shape::FeatureTable:
            return "a table of features by class";
    }
    return "";
}

}  // namespace fedhive::aggregation::formulas
