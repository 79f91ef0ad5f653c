// Owners that have names: what order they are counted in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::clients {

/// Each owner's number, from 0. Names are the same where their bytes are. Whole numbers of any length, with blanks around or not, come first, by
/// size, then texts, by their bytes; spellings of one number (01, 1) are by their bytes, too.
std::vector<std::uint32_t> numbered(const std::vector<std::string>& owners);

}  // namespace fedhive::clients
