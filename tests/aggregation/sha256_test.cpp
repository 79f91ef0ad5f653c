#include "aggregation/base/sha256.h"

#include <doctest/doctest.h>

#include <string>

using fedhive::Sha256;

namespace {

std::string digest_of(const std::string& text, std::size_t piece) {
    Sha256 hash;
    for (std::size_t at = 0; at < text.size(); at += piece) hash.update(text.data() + at, std::min(piece, text.size() - at));
    return hash.hex_digest();
}

}  // namespace

TEST_SUITE("Sha256") {
    TEST_CASE("Sha256PublishedVectorsAreMet") {
        CHECK(digest_of("", 1) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        CHECK(digest_of("abc", 3) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        CHECK(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56) ==
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        CHECK(digest_of(std::string(1000000, 'a'), 1000000) ==
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }

    TEST_CASE("Sha256PiecesOfAnySizeGiveOneDigest") {
        const std::string text(1000, 'x');
        for (const std::size_t piece : {1U, 3U, 55U, 63U, 64U, 65U, 999U})
            CHECK(digest_of(text, piece) == digest_of(text, 1000));
    }
}
