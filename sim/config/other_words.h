// What people call a key or a value who know it from another program or from its paper: `epochs`, `num_rounds`, `device: gpu`,
// `strategy: FedBN`. Only for messages: nothing is read by these words. Private to sim/config but for what a command line asks.
#pragma once

#include <string>
#include <vector>

namespace fedhive::sim {

/// Other words for a key, parted by blanks; upper case, '_' and '-' do not count. A word that begins with a point is that key's only in its own
/// section. A word of several rows is the key that is nearest to where it is written, else that of the first row.
struct OtherWords {
    std::string key;
    std::string words;
};
const std::vector<OtherWords>& other_words();

/// Other words for values of a key. Either `value`, one of its choices, is meant, or what `config` has (empty: nothing to write), of which `says`
/// speaks: "FedBN is".
struct OtherValues {
    std::string key;
    std::string words;
    std::string value{};
    std::string says{};
    std::string config{};
};
const std::vector<OtherValues>& other_values();

/// "training.local_epochs" for "epochs"; empty where no key is known by that word. `section`: where it is written, "" at the top.
std::string key_meant(const std::string& word, const std::string& section);

/// The same of a word on a command line, which may as well be a key itself, or its last part where only one ends so.
std::string key_of_option(const std::string& word);

struct ValueMeant {
    std::string value{};   // of the choices; empty: none is meant
    bool is_same = false;  // it is what was written but for upper case, '_' and '-'
    std::string advice{};  // "; did you mean 'fedavg'?", for the end of a message; empty: nothing is known of it
};
/// What was meant by `typed`, which is none of the choices of the key at `path` ("upload[0].name"): the same word, one that other programs have,
/// one that is near, or one of another key.
ValueMeant value_meant(const std::string& path, const std::string& typed, const std::vector<std::string>& choices);

}  // namespace fedhive::sim
