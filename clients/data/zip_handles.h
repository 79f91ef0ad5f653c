// Owners of what libzip hands out, and its words for what went wrong. For .cpp files: others need no zip.h.
#pragma once

#include <zip.h>

#include <memory>
#include <string>

namespace fedhive::clients {

/// An archive that is read: closing it writes nothing.
struct DiscardZip {
    void operator()(zip_t* archive) const { zip_discard(archive); }
};
using ZipArchive = std::unique_ptr<zip_t, DiscardZip>;

struct CloseZipMember {
    void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using ZipMember = std::unique_ptr<zip_file_t, CloseZipMember>;

/// What libzip says of the error, which it frees.
inline std::string zip_problem(zip_error_t& error) {
    std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    return text;
}

}  // namespace fedhive::clients
