// Incremental SHA-256 (FIPS 180-4), for fingerprints of models and data. Not tuned: hundreds of MB a second.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace fedhive {

class Sha256 {
public:
    void update(const void* bytes, std::size_t size);

    /// 64 lower-case hexadecimal digits: the hash of all bytes passed to update(). Ends the
    /// computation; no update() may follow.
    std::string hex_digest();

private:
    void compress(const unsigned char* block);

    std::array<std::uint32_t, 8> state_{0x6A09E667U, 0xBB67AE85U, 0x3C6EF372U, 0xA54FF53AU,
                                        0x510E527FU, 0x9B05688CU, 0x1F83D9ABU, 0x5BE0CD19U};
    std::array<unsigned char, 64> block_{};
    std::uint64_t num_bytes_ = 0;
};

}  // namespace fedhive
