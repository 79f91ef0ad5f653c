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
            .default_value = Unseen::Refuse,
            .choices = words_of<Unseen>(),
            .doc =
                "What happens with characters that occur only in the test text. refuse: an error; class: they form one extra "
                "class, which no model can learn."};
}

std::string unseen_problem(std::uint8_t byte) {
    const std::string shown =
        std::isprint(byte) != 0 ? fmt::format("'{}'", static_cast<char>(byte)) : fmt::format("byte 0x{:02X}", byte);
    return fmt::format(
        "has {}, which does not occur in the training text, so no model can learn it; set data.unseen: class to count all such "
        "characters as one extra class, or remove it from the test text",
        shown);
}

}  // namespace fedhive::clients
