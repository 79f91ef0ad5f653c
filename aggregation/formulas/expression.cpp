#include "aggregation/formulas/expression.h"

#include "aggregation/formulas/functions.h"
#include "aggregation/formulas/node_builder.h"
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

class Parser : NodeBuilder {
public:
    Parser(std::span<const std::string> lines, const Scope& scope) : NodeBuilder(scope), lines_(lines) {
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
        const std::string name = word();
        if (name == "repeat" && peek() != '=') return parse_repeat();
        if (name == "end" && peek() == '\0') fail("`end` without a line `repeat COUNT` before it");
        if (name == "let") return parse_let();
        set_target(name, right_side());
    }
    void parse_let() {
        const std::string name = word();
        name_value(name, right_side());
    }
    std::size_t right_side() {
        expect('=');
        const std::size_t value = comparison();
        if (peek() != '\0') fail_here("the end of the line");
        return value;
    }

    /// The lines up to `end`.
    void parse_repeat() {
        if (!scope_.products) fail("repeat changes numbers of a cohort; it is allowed only in `cohort`");
        Repeat repeat{.first = 0, .count = comparison()};
        if (peek() != '\0') fail_here("the end of the line");
        if (const Shape shape = formulas_.nodes[repeat.count].shape; shape != Shape::Number)
            fail(fmt::format("repeat takes a number of times, found {}", text_of(shape)));
        repeat.first = formulas_.nodes.size();
        const std::size_t first_line = line_;
        auto after = lets_;
        for (const std::string& name : set_in_turn(first_line)) {
            const std::size_t start = lets_.at(name);
            after[name] = add({.op = Opcode::Varying,
                               .num_args = 1,
                               .shape = formulas_.nodes[start].shape,
                               .args = {start},
                               .name = fmt::format("{} {}", name, formulas_.repeats.size())});
        }
        lets_ = after;
        for (go_to(first_line + 1, first_line); !is_end(); go_to(line_ + 1, first_line)) {
            const std::string name = word();
            if (name == "let")
                parse_let();
            else
                repeat.variables.push_back({after.at(name), next_of(name, after.at(name))});
        }
        repeat.end = formulas_.nodes.size();
        formulas_.repeats.push_back(std::move(repeat));
        lets_ = std::move(after);
    }
    std::size_t next_of(const std::string& name, std::size_t variable) {
        const std::size_t next = right_side();
        const Shape shape = formulas_.nodes[variable].shape, given = formulas_.nodes[next].shape;
        if (given > shape)
            fail(fmt::format("'{}' begins as {}, but its formula gives {}{}", name, text_of(shape), text_of(given),
                             given == Shape::Cohort ? "; begin with one for each, such as 0 * k.n" : ""));
        return next;
    }
    /// The names that the lines from `repeat` to `end` set.
    std::vector<std::string> set_in_turn(std::size_t first_line) {
        std::vector<std::string> names;
        for (go_to(first_line + 1, first_line); !is_end(); go_to(line_ + 1, first_line)) {
            const std::string name = word();
            if (name == "let") continue;
            if (name == "repeat" && peek() != '=') fail("a repeat inside of another");
            if (!lets_.contains(name))
                fail(
                    fmt::format("'{0}' is set in a repeat, but no `let {0}` before it says what it begins with; other names "
                                "are set below `end`",
                                name));
            if (std::ranges::find(names, name) != names.end()) fail(fmt::format("'{}' is set twice", name));
            names.push_back(name);
        }
        return names;
    }
    /// To a line of a repeat.
    void go_to(std::size_t line, std::size_t first_line) {
        line_ = line < lines_.size() ? line : first_line;
        if (line == lines_.size()) fail("a repeat without a line `end`");
        text_ = lines_[line];
        at_ = 0;
    }
    bool is_end() {
        const bool is_one = word() == "end" && peek() == '\0';
        at_ = 0;
        return is_one;
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
        if (function->last_is_one && args.size() + 1 == function->args)
            args.push_back(add({.op = Opcode::Number, .number = 1.0}));
        check(function->args);
        return make(function->op, args);
    }
    // --- errors

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
    std::map<std::string, std::size_t, std::less<>> lets_{};
    std::string_view text_{};
    std::size_t at_ = 0, depth_ = 0;
};

}  // namespace

Formulas parse(std::span<const std::string> lines, const Scope& scope) { return Parser(lines, scope).parse(); }

}  // namespace fedhive::aggregation::formulas
