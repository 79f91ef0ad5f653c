// Names of keys and values in other programs and papers: `epochs`, `num_rounds`, `device: gpu`, `strategy: FedBN`. Only for
// messages: the reader accepts none of them. Private to sim/config, except for command-line messages.
#pragma once

#include <string>
#include <vector>

namespace fedhive::sim {

/// Other words for a key, separated by blanks; case, '_' and '-' are ignored. A word that begins with a point means the key
/// only in the key's own section. A word in several rows means the key nearest to where it is written, or else that of the
/// first row.
struct OtherWords {
    std::string key;
    std::string words;
};
const std::vector<OtherWords>& other_words();

/// Other words for values of a key. They mean either `value`, one of its choices, or the config lines `config` (may be empty), which `says`
/// introduces: "FedBN is".
struct OtherValues {
    std::string key;
    std::string words;
    std::string value{};
    std::string says{};
    std::string config{};
};
const std::vector<OtherValues>& other_values();

/// "training.local_epochs" for "epochs"; empty if the word is unknown. `section`: where it is written, "" at the top.
std::string key_meant(const std::string& word, const std::string& section);

/// key_meant() for a word on a command line, which may also be a key itself, or the last part of a key if that is unique.
std::string key_of_option(const std::string& word);

struct ValueMeant {
    std::string value{};   // the choice that is meant; empty: none
    bool is_same = false;  // the typed word, apart from case, '_' and '-'
    std::string advice{};  // "; did you mean 'fedavg'?", for the end of a message; empty: unknown word
};
/// The meaning of `typed`, which is no choice of the key at `path` ("upload[0].name"): the same word, a word of other programs,
/// a near word, or a choice of another key.
ValueMeant value_meant(const std::string& path, const std::string& typed, const std::vector<std::string>& choices);

}  // namespace fedhive::sim
