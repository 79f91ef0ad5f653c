// Errors for files of torch.export: the problem and the line of Python that mends it. The caller that knows the file's name puts it before
// the text.
#pragma once

#include <string>
#include <string_view>

namespace fedhive::clients::exported {

/// The line of Python that writes an accepted file; x: two examples.
inline constexpr std::string_view kExport =
    R"(torch.export.save(torch.export.export(net.train(), (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=1)},)), "net.pt2"))";

/// Throws ConfigError: "what; mend it: line". `line` is Python.
[[noreturn]] void refuse(const std::string& what, std::string_view line);

/// Throws ConfigError: "what". For problems that no line of Python mends.
[[noreturn]] void refuse(const std::string& what);

/// A name from the file in quotes, shortened and without control characters.
std::string shown(std::string_view text);

}  // namespace fedhive::clients::exported
