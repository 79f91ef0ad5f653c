// The zip archive that torch.export.save writes: stored members only, read from memory. libzip reads it; nothing is allocated that the file
// does not hold.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

struct zip;

namespace fedhive::clients::exported {

class Archive {
public:
    /// `bytes` must outlive it. Throws ConfigError, without the file's name: no archive, a member that is encrypted or there twice, members that
    /// overlap.
    explicit Archive(std::span<const std::byte> bytes);

    /// Name and size of all members.
    const std::map<std::string, std::uint64_t>& members() const { return members_; }
    bool has(const std::string& name) const { return members_.contains(name); }

    /// Throws ConfigError where a member is compressed: other files are, such as TorchScript's, whose names are still to be seen.
    void need_stored() const;

    /// A member's content; its checksum is right. Throws ConfigError where there is no such member, and as need_stored().
    std::string read(const std::string& name) const;

private:
    struct Discard {
        void operator()(zip* archive) const;
    };
    std::unique_ptr<zip, Discard> archive_;
    std::map<std::string, std::uint64_t> members_;
    std::set<std::string> compressed_;
};

}  // namespace fedhive::clients::exported
