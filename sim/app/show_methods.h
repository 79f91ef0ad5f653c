// The output of `fedhive methods`: the catalog, or one of its methods.
#pragma once

#include "sim/config/method_catalog.h"

#include <functional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Families with their methods: name, the key that selects it, the first line of its description, what it needs.
std::string catalog_text(const std::vector<CatalogedMethod>& methods);

/// The method's purpose, the config lines that choose it, its keys with defaults. method_text() (show_method.h) has a method file's formulas.
std::string cataloged_method_text(const CatalogedMethod& method);

/// A page of docs/methods: a table of a family's methods, then for each its description, and its formulas or the names of its keys.
/// box_of: returns the formulas of a method (show_method.h); empty: it has none.
std::string family_page(MethodFamily family, const std::vector<CatalogedMethod>& methods,
                        const std::function<std::string(const CatalogedMethod&)>& box_of);

}  // namespace fedhive::sim
