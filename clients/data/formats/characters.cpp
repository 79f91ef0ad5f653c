#include "clients/data/formats/characters.h"

#include <fmt/format.h>

#include <cctype>

namespace fedhive::clients {

void Characters::show(std::span<const char> text) {
    for (const char c : text) seen_[static_cast<unsigned char>(c)] = true;
}

void Characters::number() {
    size_ = 0;
    for (std::size_t byte = 0; byte < seen_.size(); ++byte)
        if (seen_[byte]) tokens_[byte] = static_cast<std::uint8_t>(size_++);
    for (std::size_t byte = 0; byte < seen_.size(); ++byte)
        if (!seen_[byte]) tokens_[byte] = static_cast<std::uint8_t>(size_);  // with all 256 bytes seen there are none
}

KeySpec unseen_key() {
    return {.name = "unseen",
            .default_value = "refuse",
            .choices = {"refuse", "class"},
            .doc =
                "Characters that tests show and training does not: refused, or counted as one class more, which nobody learns "
                "to tell."};
}

Unseen unseen_of(const std::string& word) { return word == "class" ? Unseen::Class : Unseen::Refuse; }

std::string unseen_problem(std::uint8_t byte) {
    const std::string shown =
        std::isprint(byte) != 0 ? fmt::format("'{}'", static_cast<char>(byte)) : fmt::format("byte 0x{:02X}", byte);
    return fmt::format(
        "has {}, which is in nothing that is trained on, so that no model can tell it; set data.unseen to class to "
        "count all such characters as one class more, or leave it out of the tests",
        shown);
}

}  // namespace fedhive::clients
