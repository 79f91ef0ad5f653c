// Numbering of owners that have names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::clients {

/// Number of each entry's owner, from 0; equal bytes are one owner.
///
/// Order: whole numbers of any length (blanks around them ignored) by value, spellings of one value (01, 1) bytewise; then
/// other names bytewise.
std::vector<std::uint32_t> numbered(const std::vector<std::string>& owners);

}  // namespace fedhive::clients
