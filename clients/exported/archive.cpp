#include "clients/exported/archive.h"

#include "clients/exported/refusal.h"

#include <fmt/format.h>

namespace fedhive::clients::exported {

namespace {

constexpr zip_int64_t kMostMembers = 100'000;

zip_stat_t stat_of(zip* archive, zip_uint64_t index) {
    zip_stat_t member;
    zip_stat_init(&member);
    constexpr zip_uint64_t kWanted = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(archive, index, 0, &member) != 0 || (member.valid & kWanted) != kWanted)
        refuse("is a damaged archive: a member has no name or size", kExport);
    return member;
}

}  // namespace

Archive::Archive(std::span<const std::byte> bytes) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (source == nullptr) refuse(fmt::format("cannot be read ({})", zip_problem(error)), kExport);
    archive_.reset(zip_open_from_source(source, ZIP_RDONLY, &error));
    if (!archive_) {
        zip_source_free(source);  // libzip takes it only where it succeeds
        refuse(fmt::format("is not a complete archive of torch.export.save ({})", zip_problem(error)), kExport);
    }
    const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
    if (count > kMostMembers) refuse(fmt::format("has {} members; allowed: {}", count, kMostMembers), kExport);
    std::uint64_t sum = 0;
    for (zip_int64_t i = 0; i < count; ++i) {
        const zip_stat_t member = stat_of(archive_.get(), static_cast<zip_uint64_t>(i));
        const std::string name = member.name;
        if (member.encryption_method != ZIP_EM_NONE) refuse(shown(name) + " is encrypted", kExport);
        const bool stored = member.comp_method == ZIP_CM_STORE && member.comp_size == member.size;
        if (!stored) compressed_.insert(name);
        if (member.comp_size > bytes.size() - sum)
            refuse(fmt::format("has members with more bytes than the file, {}", bytes.size()), kExport);
        sum += member.comp_size;
        if (!members_.emplace(name, member.size).second) refuse("has two members named " + shown(name), kExport);
    }
}

void Archive::need_stored() const {
    if (!compressed_.empty())
        refuse(shown(*compressed_.begin()) + " is compressed; torch.export.save stores members uncompressed", kExport);
}

std::string Archive::read(const std::string& name) const {
    need_stored();
    const auto found = members_.find(name);
    if (found == members_.end()) refuse("has no member " + shown(name), kExport);
    const ZipMember file(zip_fopen(archive_.get(), name.c_str(), 0));
    if (!file) refuse(fmt::format("{} cannot be read ({})", shown(name), zip_strerror(archive_.get())), kExport);
    std::string content(found->second, '\0');
    std::size_t filled = 0;
    char beyond = 0;
    for (;;) {  // once more after the last byte: libzip verifies the checksum there
        const bool full = filled == content.size();
        const zip_int64_t got =
            zip_fread(file.get(), full ? &beyond : content.data() + filled, full ? 1 : content.size() - filled);
        if (got < 0) refuse(fmt::format("{} is damaged ({})", shown(name), zip_file_strerror(file.get())), kExport);
        if (got > 0 && full) refuse(shown(name) + " is longer than its stated size", kExport);
        if (got == 0 && !full) refuse(shown(name) + " ends early", kExport);
        if (got == 0) return content;
        filled += static_cast<std::size_t>(got);
    }
}

}  // namespace fedhive::clients::exported
