// How a file of torch.export is refused: what is wrong and the line of Python that mends it. Whoever knows the file puts its name before.
#pragma once

#include <string>
#include <string_view>

namespace fedhive::clients::exported {

/// The line that writes a file as it is wanted; x: two examples.
inline constexpr std::string_view kExport =
    R"(torch.export.save(torch.export.export(net.train(), (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=1)},)), "net.pt2"))";

/// Throws ConfigError: "what; mend it: line". `line` is Python.
[[noreturn]] void refuse(const std::string& what, std::string_view line);

/// Throws ConfigError: "what". For what no line of Python mends.
[[noreturn]] void refuse(const std::string& what);

/// A name out of the file, cut and without control characters, in quotes.
std::string shown(std::string_view text);

}  // namespace fedhive::clients::exported
