#include "sim/config/named_methods.h"

#include "aggregation/base/home_folder.h"
#include "sim/strategies/strategy.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

/// Texts in a method file, and the cost for a run that each stands for.
const std::vector<std::pair<const char*, const char*>>& signs_of_needs() {
    static const std::vector<std::pair<const char*, const char*>> signs = {{"of=\"client\"", "client memory"},
                                                                           {"down=True", "more down"},
                                                                           {"up=True", "more up"},
                                                                           {"@fh.second", "a second gradient"},
                                                                           {"@fh.loss", "a loss"},
                                                                           {"also_at", "a second forward pass"},
                                                                           {"@fh.measure", "a measure"},
                                                                           {"shape=\"features\"", "memories by class"},
                                                                           {"shape=\"logits\"", "memories by class"},
                                                                           {"shape=\"classes\"", "memories by class"},
                                                                           {"@fh.answer", "an answer"},
                                                                           {"@fh.mix", "mixtures by client"},
                                                                           {"their_loss", "losses of others' models"},
                                                                           {"nearest", "inner products"},
                                                                           {"bipartition", "inner products"},
                                                                           {"fh.leading", "inner products"},
                                                                           {"fh.closest", "inner products"},
                                                                           {"fh.shortest", "inner products"},
                                                                           {"fh.without_conflicts", "inner products"},
                                                                           {"fh.norm(k.u -", "inner products"},
                                                                           {"fh.cos(k.u", "inner products"},
                                                                           {"fh.dot(k.u", "inner products"},
                                                                           {"root.u", "data.root_examples"},
                                                                           {"sent_loss", "measure sent_loss"},
                                                                           {"g_t", "the whole gradient"},
                                                                           {"local", "model.local"}};
    return signs;
}

bool has_word(const std::string& text, std::string_view word) {
    const auto in_a_word = [&](std::size_t at) {
        return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
    };
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
        if ((at == 0 || !in_a_word(at - 1)) && !in_a_word(at + word.size())) return true;
    return false;
}

/// Its comment, family and needs, without running it.
NamedMethod read_method(const std::string& name, const fs::path& file) {
    constexpr std::string_view kFor = "For: ";
    NamedMethod method{.name = name, .file = file};
    std::ifstream stream(file);
    std::string line, code;
    bool in_comment = true;
    while (std::getline(stream, line)) {
        const std::size_t first = line.find_first_not_of("# ");
        in_comment = in_comment && line.starts_with('#');
        if (!in_comment) {
            if (!line.starts_with('#')) code += line.substr(0, line.find("doc=")) + "\n";
            continue;
        }
        if (first == std::string::npos) continue;
        const std::string text = line.substr(first);
        if (text.starts_with(kFor)) {
            method.family = text.substr(kFor.size(), text.find('.') - kFor.size());
            continue;
        }
        if (method.doc.empty()) method.doc = text;
        method.comment += (method.comment.empty() ? "" : "\n") + text;
    }
    for (const auto& [sign, need] : signs_of_needs())
        if (has_word(code, sign) && (method.needs.empty() || method.needs.back() != need)) method.needs.emplace_back(need);
    return method;
}

std::vector<NamedMethod> found_methods() {
    std::vector<NamedMethod> methods;
    const fs::path home = home_folder();
    if (home.empty()) return methods;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(home / "configs/methods", none)) {
        const std::string name = entry.path().stem().string();
        const bool in_cpp =
            std::ranges::any_of(strategy_catalog(), [&](const StrategySpec& spec) { return spec.name == name; });
        if (entry.path().extension() == ".py" && !in_cpp) methods.push_back(read_method(name, entry.path()));
    }
    std::ranges::sort(methods, {}, &NamedMethod::name);
    return methods;
}

}  // namespace

const std::vector<NamedMethod>& named_methods() {
    static const std::vector<NamedMethod> methods = found_methods();
    return methods;
}

const NamedMethod* named_method(const std::string& name) {
    const auto found = std::ranges::find(named_methods(), name, &NamedMethod::name);
    return found != named_methods().end() ? &*found : nullptr;
}

std::vector<std::string> names_of_methods() {
    std::vector<std::string> names;
    for (const NamedMethod& method : named_methods()) names.push_back(method.name);
    return names;
}

}  // namespace fedhive::sim
