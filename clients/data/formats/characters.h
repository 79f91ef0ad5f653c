// Characters as tokens: the bytes that occur in training, numbered in ascending order, and a rule for bytes that only test examples have.
#pragma once

#include "aggregation/base/keys.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace fedhive::clients {

/// Values of the key `unseen`. Bytes that only test examples have get no tokens of their own, since the model's size must not depend on
/// test data.
enum class Unseen : std::uint8_t {
    Refuse,
    Class  // one extra token and class, the last, for all such bytes; no training example has it, so no model can learn it
};
constexpr auto all_words(Unseen) { return std::array{"refuse", "class"}; }

class Characters {
public:
    explicit Characters(Unseen unseen) : unseen_(unseen) {}

    /// Adds the bytes of training text. number() then assigns the tokens; call it once, before any other query.
    void show(std::span<const char> text);
    void number();

    /// Number of tokens, including the extra one of Unseen::Class.
    std::int64_t size() const { return size_ + (unseen_ == Unseen::Class ? 1 : 0); }

    /// Whether the byte has a token.
    bool knows(std::uint8_t byte) const { return unseen_ == Unseen::Class || seen_[byte]; }

    /// Token of a byte for which knows() holds.
    std::uint8_t token(std::uint8_t byte) const { return tokens_[byte]; }

private:
    Unseen unseen_;
    std::array<bool, 256> seen_{};
    std::array<std::uint8_t, 256> tokens_{};
    std::int64_t size_ = 0;
};

/// Specification of the key `unseen`.
KeySpec unseen_key();

/// The message for a refused byte: "has '&', which …; set data.unseen to …".
std::string unseen_problem(std::uint8_t byte);

}  // namespace fedhive::clients
