#include "sim/config/fields.h"
#include "sim/config/layer_fields.h"
#include "sim/config/load_config.h"

#include <fmt/format.h>

#include <cctype>

namespace fedhive::sim {

namespace {

/// Unquoted if YAML cannot take it for anything else; else in double quotes.
std::string written(const std::string& text) {
    bool plain = !text.empty() && (std::isalnum(static_cast<unsigned char>(text[0])) != 0 || text[0] == '/');
    for (const char c : text)
        plain = plain && (std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string("/._-").find(c) != std::string::npos);
    if (plain && text != "null" && text != "Null" && text != "NULL") return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            quoted += std::string("\\") + c;
        else if (c >= 0 && c < ' ')
            quoted += fmt::format("\\x{:02x}", static_cast<int>(c));
        else
            quoted += c;
    }
    return quoted + "\"";
}

std::string written(bool value) { return value ? "true" : "false"; }
std::string written(std::int64_t value) { return fmt::format("{}", value); }
std::string written(std::uint64_t value) { return fmt::format("{}", value); }
std::string written(double value) { return fmt::format("{}", value); }

struct ValueText {
    const Field& field;

    template <class Value>
    std::string operator()(const Value* value) const {
        return written(*value);
    }
    template <class Value>
    std::string operator()(const std::optional<Value>* value) const {
        return *value ? written(**value) : field.empty_word;
    }
    std::string operator()(const std::filesystem::path* path) const { return path->empty() ? "" : written(path->string()); }
    std::string operator()(const std::string* word) const {
        return word->empty() && (!field.or_else.empty() || !field.required) ? "" : written(*word);
    }
    std::string operator()(const WordRef& word) const {
        const std::string text = word.get();
        return text.empty() ? field.empty_word : written(text);
    }
    std::string operator()(const clients::LayerList* layers) const { return text_of(*layers); }
    std::string operator()(const std::vector<std::string>* words) const {
        std::vector<std::string> each;
        for (const std::string& word : *words) each.push_back(written(word));
        return each.empty() ? "" : fmt::format("[{}]", fmt::join(each, ", "));
    }
    std::string operator()(const std::vector<double>* values) const {
        return values->empty() ? "" : fmt::format("[{}]", fmt::join(*values, ", "));
    }
};

class Writer : public Visitor {
public:
    std::string take_text() { return std::move(text_); }

    void begin(const Section& section) override {
        sections_.push_back(section);
        flow_.clear();
        if (section.flow) return;
        if (depth() == 1) text_ += '\n';
        text_ += section.name + ":\n";
    }

    void field(const Field& field) override {
        if (field.when && !field.when->holds()) return;
        const std::string value = text_of(field);
        if (!value.empty()) entry(field.name, value);
    }

    void end() override {
        const Section section = sections_.back();
        sections_.pop_back();
        if (section.flow && !flow_.empty()) {
            if (depth() == 0 && after_block_) text_ += '\n';
            text_ += fmt::format("{}{}: {{{}}}\n", indent(), section.name, flow_);
        }
        if (depth() == 0) after_block_ = !section.flow;
    }

    void items(const ItemList& list) override {
        if (list.size() == 0) return;
        text_ += fmt::format("{}{}{}:\n", depth() == 0 ? "\n" : "", indent(), list.name);
        for (std::size_t i = 0; i < list.size(); ++i) {
            sections_.push_back({.name = list.name, .flow = true, .doc = ""});
            flow_.clear();
            list.item(*this, i);
            sections_.pop_back();
            text_ += fmt::format("{}- {{{}}}\n", std::string(4 * (depth() + 1), ' '), flow_);
        }
        after_block_ = true;
    }

private:
    std::size_t depth() const { return sections_.size(); }
    std::string indent() const { return std::string(4 * depth(), ' '); }

    void entry(const std::string& name, const std::string& value) {
        if (depth() > 0 && sections_.back().flow)
            flow_ += (flow_.empty() ? "" : ", ") + name + ": " + value;
        else
            text_ += indent() + name + ": " + value + '\n';
    }

    std::string text_;
    std::string flow_;  // entries of the section being written on one line
    bool after_block_ = false;
    std::vector<Section> sections_;
};

}  // namespace

std::string text_of(const Field& field) { return std::visit(ValueText{field}, field.target); }

std::string to_yaml(const RunConfig& run) {
    RunConfig copy = run;  // visitors may also write
    Writer writer;
    describe(writer, copy);
    return writer.take_text();
}

}  // namespace fedhive::sim
