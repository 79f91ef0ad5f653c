#include "clients/data/formats/text.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "aggregation/memory/shared_segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>

namespace fedhive::clients {

namespace {

/// What is predicted from a window: the character after its last one, or after each.
enum class TextTargets { Last, Every };
constexpr auto all_words(TextTargets) { return std::array{"last", "every"}; }

enum class TextOwners { Speakers, Blocks };
constexpr auto all_words(TextOwners) { return std::array{"speakers", "blocks"}; }

constexpr std::size_t kShown = 40;  // bytes of a line shown in messages
constexpr std::uint64_t kMostWindows = std::numeric_limits<std::uint32_t>::max();

/// The file's text without byte-order mark, with \n for \r\n.
std::string plain_text(const std::filesystem::path& file) {
    std::string text = read_file(file);
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    std::size_t kept = 0;
    for (std::size_t at = 0; at < text.size(); ++at)
        if (text[at] != '\r' || at + 1 == text.size() || text[at + 1] != '\n') text[kept++] = text[at];
    text.resize(kept);
    if (text.find_first_not_of(" \t\n") == std::string::npos) throw ConfigError(fmt::format("{}: has no text", file.string()));
    return text;
}

/// An owner's text; names are "ROMEO" or "block 3".
struct Owner {
    std::string name;
    std::string text;
};

/// Each speaker's text, in order of first speech.
std::vector<Owner> by_speaker(std::string_view text, const std::string& file) {
    std::vector<Owner> texts;
    std::map<std::string_view, std::size_t> known;
    std::string* speech = nullptr;
    bool begins = true;  // the next line may name a speaker
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.find_first_not_of(" \t") == std::string_view::npos) {
            begins = true;
            continue;
        }
        if (begins && line.size() > 1 && line.ends_with(':')) {
            const auto [place, is_new] = known.try_emplace(line, texts.size());
            if (is_new) texts.push_back({std::string(line.substr(0, line.size() - 1)), ""});
            speech = &texts[place->second].text;
        } else if (speech != nullptr) {
            speech->append(line).push_back('\n');
        } else {
            throw ConfigError(
                fmt::format("{}:{}: '{}' has no speaker; expected: a line 'NAME:' before each speech, at the beginning or "
                            "after an empty line; for text without speakers set data.owners: blocks",
                            file, number, line.substr(0, kShown)));
        }
        begins = false;
    }
    return texts;
}

std::vector<Owner> by_block(std::string_view text, std::size_t block) {
    std::vector<Owner> texts;
    for (; !text.empty(); text.remove_prefix(std::min(block, text.size())))
        texts.push_back({fmt::format("block {}", texts.size()), std::string(text.substr(0, block))});
    return texts;
}

std::vector<Owner> texts_of(const TextFile& text) {
    const std::string whole = plain_text(text.file);
    return text.block > 0 ? by_block(whole, text.block) : by_speaker(whole, text.file.string());
}

std::uint64_t num_windows(std::size_t characters, const TextFile& text) {
    return characters <= text.sequence ? 0 : (characters - text.sequence - 1) / text.step + 1;
}

/// An owner's text: training part, test part.
std::array<std::string_view, 2> parts_of(std::string_view owner, const TextFile& text) {
    const auto tested = static_cast<std::size_t>(text.test_share * static_cast<double>(owner.size()));
    return {owner.substr(0, owner.size() - tested), owner.substr(owner.size() - tested)};
}

/// Number of windows of all texts: training, test.
std::array<std::uint64_t, 2> windows_in(const std::vector<Owner>& texts, const TextFile& text) {
    std::array<std::uint64_t, 2> windows{};
    for (const Owner& owner : texts) {
        const auto parts = parts_of(owner.text, text);
        for (std::size_t part = 0; part < parts.size(); ++part) windows[part] += num_windows(parts[part].size(), text);
    }
    return windows;
}

/// Removes owners without a training window; returns their number.
std::uint32_t leave_out(std::vector<Owner>& texts, const TextFile& text) {
    std::size_t longest = 0;
    const std::size_t left_out = std::erase_if(texts, [&](const Owner& owner) {
        const std::size_t trained = parts_of(owner.text, text)[0].size();
        longest = std::max(longest, trained);
        return num_windows(trained, text) == 0;
    });
    if (texts.empty())
        throw ConfigError(
            fmt::format("{}: no owner has {} training characters and one more to predict; the longest text has {}; use a "
                        "smaller data.sequence",
                        text.file.string(), text.sequence, longest));
    return static_cast<std::uint32_t>(left_out);
}

/// Throws ConfigError if there is no test window, or memory or 32-bit indices do not suffice.
void check_windows(const std::array<std::uint64_t, 2>& windows, const TextFile& text) {
    const auto& [trained, tested] = windows;
    const std::string file = text.file.string();
    if (tested == 0)
        throw ConfigError(
            fmt::format("{}: no test examples: for no owner does the last {:g} of the text have {} characters and one more to "
                        "predict; raise data.test_share, or use a smaller data.sequence",
                        file, text.test_share, text.sequence));
    const std::size_t labels = text.every ? text.sequence : 1;
    const double bytes =
        static_cast<double>(trained + tested) * static_cast<double>(text.sequence + labels * sizeof(std::int32_t));
    if (const std::uint64_t available = aggregation::available_memory_bytes(); bytes > static_cast<double>(available) / 2)
        throw ConfigError(
            fmt::format("{}: {} windows need {:.3g} bytes, {} bytes of memory are available and half of it may be used; raise "
                        "data.step, or use a smaller data.sequence",
                        file, trained + tested, bytes, available));
    if (trained > kMostWindows || tested > kMostWindows)
        throw ConfigError(fmt::format("{}: has {} windows; allowed: at most {}; raise data.step", file,
                                      std::max(trained, tested), kMostWindows));
}

/// Alphabet of all owners' training parts.
Characters alphabet_of(const std::vector<Owner>& texts, const TextFile& text) {
    Characters alphabet(text.unseen);
    for (const Owner& owner : texts) alphabet.show(parts_of(owner.text, text)[0]);
    alphabet.number();
    return alphabet;
}

/// Throws ConfigError for the first character of the owner's test part without a token.
void check_known(const Owner& owner, const TextFile& text, const Characters& alphabet) {
    const auto [train, test] = parts_of(owner.text, text);
    const auto unknown = std::ranges::find_if(test, [&](char c) { return !alphabet.knows(static_cast<std::uint8_t>(c)); });
    if (unknown == test.end() || num_windows(test.size(), text) == 0) return;
    const std::string whose = text.block > 0 ? owner.name : fmt::format("speaker '{}'", owner.name.substr(0, kShown));
    throw ConfigError(fmt::format("{}: {}: character {} of {}, in the test part, {}", text.file.string(), whose,
                                  train.size() + static_cast<std::size_t>(unknown - test.begin()), owner.text.size(),
                                  unseen_problem(static_cast<std::uint8_t>(*unknown))));
}

void append_windows(std::string_view part, const TextFile& text, const Characters& alphabet, Examples& examples) {
    const auto token = [&](char c) { return alphabet.token(static_cast<std::uint8_t>(c)); };
    for (std::size_t at = 0; at + text.sequence < part.size(); at += text.step) {
        for (const char c : part.substr(at, text.sequence)) examples.values.push_back(token(c));
        const std::size_t labels = examples.target.width;
        for (const char c : part.substr(at + text.sequence + 1 - labels, labels)) examples.labels.push_back(token(c));
    }
}

TargetShape target_of(const TextFile& text) {
    if (!text.every) return {};
    return {TargetKind::ClassEach, static_cast<std::uint32_t>(text.sequence)};
}

TextFile text_file(const Values& values) {
    TextFile text{.file = values.path("train"),
                  .sequence = static_cast<std::size_t>(values.integer("sequence")),
                  .step = static_cast<std::size_t>(values.integer("step")),
                  .test_share = values.number("test_share"),
                  .every = values.choice<TextTargets>("targets") == TextTargets::Every,
                  .unseen = values.choice<Unseen>("unseen")};
    if (values.choice<TextOwners>("owners") == TextOwners::Blocks)
        text.block = static_cast<std::size_t>(values.integer("block"));
    return text;
}

DataShape text_shape(const Values& values, TargetKind) {
    const TextFile text = text_file(values);
    std::vector<Owner> texts = texts_of(text);
    leave_out(texts, text);
    const std::int64_t vocabulary = alphabet_of(texts, text).size();
    return {{static_cast<std::int64_t>(text.sequence), 1, 1, vocabulary}, vocabulary, target_of(text)};
}

}  // namespace

Dataset read_text(const TextFile& text) {
    std::vector<Owner> texts = texts_of(text);
    Dataset dataset;
    dataset.owners_left_out = leave_out(texts, text);
    const Characters alphabet = alphabet_of(texts, text);
    dataset.num_classes = alphabet.size();
    const std::array<std::uint64_t, 2> windows = windows_in(texts, text);
    check_windows(windows, text);
    for (const Owner& owner : texts) check_known(owner, text, alphabet);
    dataset.train.target = dataset.test.target = target_of(text);
    for (std::size_t i = 0; i < windows.size(); ++i) {
        Examples& part = i == 0 ? dataset.train : dataset.test;
        part.shape = {static_cast<std::int64_t>(text.sequence), 1, 1, alphabet.size()};
        part.values.reserve(windows[i] * text.sequence);
        part.labels.reserve(windows[i] * part.target.width);
    }
    for (std::size_t owner = 0; owner < texts.size(); ++owner) {
        const auto [train, test] = parts_of(texts[owner].text, text);
        append_windows(train, text, alphabet, dataset.train);
        append_windows(test, text, alphabet, dataset.test);
        dataset.train.owners.resize(dataset.train.size(), static_cast<std::uint32_t>(owner));
        if (text.block == 0) dataset.owner_names.push_back(texts[owner].name);
    }
    return dataset;
}

DataFormat text() {
    return {
        .name = "text",
        .summary = "plain text: predict the next character from the ones before it",
        .keys =
            {{.name = "train",
              .default_value = std::filesystem::path(),
              .required = true,
              .may_change = true,
              .doc = "The text file. The end of each owner's text is for testing, the rest for training. A character is a "
                     "byte. Relative to the config file. docs/data.md."},
             {.name = "sequence",
              .default_value = std::int64_t{80},
              .range = between(1, kWide),
              .doc = "Number of characters in a window, from which the next one is predicted; 80 in LEAF (arXiv:1812.01097)."},
             {.name = "step",
              .default_value = std::int64_t{1},
              .range = between(1, kWide),
              .doc = "Number of characters between the starts of two windows. 1, as in LEAF: every window; sequence: windows "
                     "that do not overlap."},
             {.name = "targets",
              .default_value = TextTargets::Last,
              .choices = words_of<TextTargets>(),
              .doc = "What is predicted from a window: the character after its last one, or the character after each position, "
                     "for task next_token. The latter gives one loss per position, so step can be as large as sequence."},
             {.name = "test_share",
              .default_value = 0.2,
              .range = {.low = 0, .high = 1, .low_excluded = true, .high_excluded = true},
              .doc = "Share of each owner's text, at its end, that is for testing; 0.2 in LEAF."},
             unseen_key(),
             {.name = "owners",
              .default_value = TextOwners::Speakers,
              .choices = words_of<TextOwners>(),
              .doc = "Owners of the text, for partition scheme natural. speakers: a line 'NAME:' after an empty line names the "
                     "speaker of the lines below it; blocks: consecutive blocks of block characters."},
             {.name = "block",
              .default_value = std::int64_t{10000},
              .range = between(2, kMost),
              .with = KeySpec::Companion{"owners", {word_of(TextOwners::Blocks)}},
              .doc = "Number of characters of an owner."}},
        .shape = text_shape,
        .read = [](const Values& values, std::uint64_t, TargetKind) { return read_text(text_file(values)); },
        .targets = {TargetKind::Class, TargetKind::ClassEach}};
}

}  // namespace fedhive::clients
