// What `fedhive methods` prints: the catalog, or one of its methods.
#pragma once

#include "sim/config/method_catalog.h"

#include <functional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Families with their methods: name, the key that takes it, the first line of what it does, what it needs.
std::string catalog_text(const std::vector<CatalogedMethod>& methods);

/// The method's purpose, the config lines that choose it, its keys with defaults. The box of a method file is method_text()'s (show_method.h).
std::string cataloged_method_text(const CatalogedMethod& method);

/// A page of docs/methods: a table of a family's methods, then each with what it does, and its box or the names of its keys.
/// box_of: the formulas of a method (show_method.h); empty: it has none.
std::string family_page(MethodFamily family, const std::vector<CatalogedMethod>& methods,
                        const std::function<std::string(const CatalogedMethod&)>& box_of);

}  // namespace fedhive::sim
