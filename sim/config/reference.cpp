#include "sim/config/fields.h"
#include "sim/config/layer_fields.h"
#include "sim/config/load_config.h"
#include "sim/config/markdown.h"
#include "sim/modes/mode_spec.h"

#include <fmt/format.h>

#include <type_traits>

namespace fedhive::sim {

namespace {

constexpr const char* kIntroduction = R"(# Every key of a config

*Generated from the code, not to be edited: `fedhive reference > configs/REFERENCE.md`.*

A config is one YAML file, or one of JSON, which is YAML. Only `data.format` and `model.name`, `model.layers` or `model.file` must be given; [quickstart.yaml](quickstart.yaml) spells out the rest.
Unknown keys, wrong types and values out of range are errors that name file, line and what is allowed.
`fedhive validate FILE` checks a file; `fedhive show-config FILE` prints it with every default filled in, and that is a valid config again.

**On the command line.** `fedhive run FILE --set training.batch_size=32` replaces one key; `--set` may be repeated, a later one wins. The
value is YAML: `--set 'strategy={name: fedprox, proximal_mu: 0.1}'` replaces a section, `--set training.participation=null` takes a key
out of the file.

**Values.** Numbers are written plainly, `0.01` or `1e-2`; integers without point or exponent. Words may stand in quotes,
numbers, `true` and `false` may not. Paths are relative to the config file.

## Top level

| Key | Values | Default | Meaning |
|---|---|---|---|
)";

std::string code(const std::string& text) { return "`" + text + "`"; }

std::string code_list(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + code(word);
    return text;
}

template <class Value>
std::string type_name() {
    if (std::is_same_v<Value, bool>) return "`true`, `false`";
    if (std::is_same_v<Value, std::string>) return "word";
    if (std::is_same_v<Value, std::filesystem::path>) return "path";
    if (std::is_same_v<Value, std::vector<double>>) return "list of numbers";
    if (std::is_same_v<Value, std::vector<std::string>>) return "list of words";
    if (std::is_same_v<Value, clients::LayerList>) return "list of layers";
    if (std::is_same_v<Value, double> || std::is_same_v<Value, std::optional<double>>) return "number";
    return "integer";
}

std::string values_of(const Field& field) {
    if (const auto words = field.words(); !words.empty()) return code_list(words);
    std::string type =
        std::visit([](auto target) { return type_name<std::remove_reference_t<decltype(*target)>>(); }, field.target);
    if (!field.empty_word.empty()) type = code(field.empty_word) + " or " + type;
    const std::string range = field.range.text();
    return range.empty() ? type : type + ", " + range;
}

struct DefaultText {
    const Field& field;

    std::string operator()(const std::string* value) const { return code(*value); }
    std::string operator()(const WordRef& word) const {
        const std::string text = word.get();
        return code(text.empty() ? field.empty_word : text);
    }
    std::string operator()(const bool* value) const { return code(*value ? "true" : "false"); }
    std::string operator()(const std::int64_t* value) const { return code(fmt::format("{}", *value)); }
    std::string operator()(const std::uint64_t* value) const { return code(fmt::format("{}", *value)); }
    std::string operator()(const double* value) const { return code(fmt::format("{}", *value)); }
    template <class Value>
    std::string operator()(const std::optional<Value>* value) const {
        return code(*value ? fmt::format("{}", **value) : field.empty_word);
    }
    // Empty by default.
    std::string operator()(const std::filesystem::path*) const { return code(field.empty_word); }
    std::string operator()(const std::vector<double>*) const { return code(field.empty_word); }
    std::string operator()(const std::vector<std::string>*) const { return code(field.empty_word); }
    std::string operator()(const clients::LayerList*) const { return code(field.empty_word); }
};

std::string default_of(const Field& field) {
    if (field.required)
        return field.or_else.empty() ? "**required**" : fmt::format("**required**, or {}", code_list(field.or_else));
    return field.default_note.empty() ? std::visit(DefaultText{field}, field.target) : field.default_note;
}

/// "*Only with scheme `iid`.* ", in front of a doc.
std::string only(const std::optional<Condition>& when) {
    if (!when) return "";
    if (when->values.empty()) return fmt::format("*Only without {}.* ", code(when->key));
    return fmt::format("*Only with {} {}.* ", when->key, code_list(when->values));
}

class Reference : public Visitor {
public:
    std::string take_text() { return std::move(text_); }
    bool wants_all() const override { return true; }

    void begin(const Section& section) override {
        path_.push_back(section.name);
        text_ += fmt::format("\n{} {}\n\n{}{}\n\n| Key | Values | Default | Meaning |\n|---|---|---|---|\n",
                             path_.size() > 1 ? "###" : "##", fmt::join(path_, "."), only(section.when), section.doc);
    }

    void field(const Field& field) override {
        std::string meaning = only(field.when) + field.doc;
        if (field.may_change) meaning += " A resumed run may change it.";
        text_ +=
            fmt::format("| {} | {} | {} | {} |\n", code(field.name), values_of(field), default_of(field), cell_text(meaning));
    }

    void items(const ItemList& list) override {
        begin({.name = list.name, .doc = list.doc + " A list of maps with these keys:"});
        list.example(*this);
        end();
    }

    void end() override {
        if (path_.back() == "strategy") add_strategies();
        if (path_.back() == "model") text_ += layers_markdown();
        path_.pop_back();
    }

private:
    void add_strategies() {
        for (const StrategySpec& spec : strategy_catalog()) {
            text_ += fmt::format(
                "\n### strategy: {}\n\n{}\n\nSource: {}. Default parts: local `{}`, aggregator `{}`, server `{}`, weighting "
                "`{}`. Modes: {}.\n",
                spec.name, spec.note, spec.source, spec.local, spec.aggregator, spec.server, word_of(spec.default_weighting),
                code_list(modes_of(parts_of(spec.name))));
        }
    }

    std::string text_ = kIntroduction;
    std::vector<std::string> path_;
};

}  // namespace

std::string reference_markdown() {
    RunConfig defaults;
    Reference reference;
    describe(reference, defaults);
    return reference.take_text();
}

}  // namespace fedhive::sim
