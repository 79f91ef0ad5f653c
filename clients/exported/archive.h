// The zip archive that torch.export.save writes: stored (uncompressed) members only, read from memory by libzip. Allocations
// never exceed what the file contains.
#pragma once

#include "clients/data/zip_handles.h"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

namespace fedhive::clients::exported {

class Archive {
public:
    /// `bytes` must outlive the archive. Throws ConfigError, without the file's name, for bytes that are no archive, an
    /// encrypted or duplicate member, or overlapping members.
    explicit Archive(std::span<const std::byte> bytes);

    /// Name and size of all members.
    const std::map<std::string, std::uint64_t>& members() const { return members_; }
    bool has(const std::string& name) const { return members_.contains(name); }

    /// Throws ConfigError if a member is compressed. The constructor does not check this, so that a compressed file of another kind, such as
    /// TorchScript's, can first be recognised by its members' names.
    void need_stored() const;

    /// A member's content, with a verified checksum. Throws ConfigError if there is no such member, and as need_stored().
    std::string read(const std::string& name) const;

private:
    ZipArchive archive_;
    std::map<std::string, std::uint64_t> members_;
    std::set<std::string> compressed_;
};

}  // namespace fedhive::clients::exported
