// Owning pointers for libzip's handles, and the text of its errors. To be included by .cpp files only, which need zip.h.
#pragma once

#include <zip.h>

#include <memory>
#include <string>

namespace fedhive::clients {

/// Deleter of an archive that is only read: discards it instead of writing it.
struct DiscardZip {
    void operator()(zip_t* archive) const { zip_discard(archive); }
};
using ZipArchive = std::unique_ptr<zip_t, DiscardZip>;

struct CloseZipMember {
    void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using ZipMember = std::unique_ptr<zip_file_t, CloseZipMember>;

/// libzip's text for the error, which is freed.
inline std::string zip_problem(zip_error_t& error) {
    std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    return text;
}

}  // namespace fedhive::clients
