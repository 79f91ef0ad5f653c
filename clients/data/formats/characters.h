// Characters as tokens: which bytes training shows, numbered from 0 in their order, and what becomes of those that only tests show.
#pragma once

#include "aggregation/base/keys.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace fedhive::clients {

/// The words of key `unseen`. An alphabet that knew the tests' characters, too, would give the model a size that training does not tell.
enum class Unseen : std::uint8_t {
    Refuse,
    Class  // one more token, and class, behind all others: no training example has it, so nobody learns to tell it
};

class Characters {
public:
    explicit Characters(Unseen unseen) : unseen_(unseen) {}

    /// What training shows, all of it before the first token is asked for.
    void show(std::span<const char> text);
    void number();

    /// Tokens there are, with that of unseen ones.
    std::int64_t size() const { return size_ + (unseen_ == Unseen::Class ? 1 : 0); }

    /// Whether it has a token.
    bool knows(std::uint8_t byte) const { return unseen_ == Unseen::Class || seen_[byte]; }

    /// Of one that it knows.
    std::uint8_t token(std::uint8_t byte) const { return tokens_[byte]; }

private:
    Unseen unseen_;
    std::array<bool, 256> seen_{};
    std::array<std::uint8_t, 256> tokens_{};
    std::int64_t size_ = 0;
};

/// The key `unseen`, and what its word means.
KeySpec unseen_key();
Unseen unseen_of(const std::string& word);

/// "has '&', which …; set data.unseen to …": what is said of the first one that is refused.
std::string unseen_problem(std::uint8_t byte);

}  // namespace fedhive::clients
