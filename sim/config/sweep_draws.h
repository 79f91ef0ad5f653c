// Values that `random` draws for one key. Private to sim/config.
#pragma once

#include "sim/config/tree.h"

#include <cstdint>

namespace fedhive::sim {

class Draw {
public:
    /// `node` is {uniform: [low, high]}, {log_uniform: [low, high]} or {choice: [...]}, whose choices have to live as long as this. Throws ConfigError:
    /// anything else, low not below high, a bound of log_uniform that is not above 0, no integer between the bounds of an integer key,
    /// numbers for a key that wants none.
    Draw(std::string key, const Node& node);

    const std::string& key() const { return key_; }

    /// The value in draw `index`, with the line of `node`. It depends on seed, key and index alone, so that more runs or another drawn key
    /// leave it as it is. Numbers are rounded to 6 significant digits, which hides that the logarithms of two machines may differ in their
    /// last bits; a key that wants an integer gets every integer from low to high, the ends as likely as their neighbours.
    Node value(std::uint64_t seed, std::uint32_t index) const;

private:
    void read_bounds(const std::string& path, const Node& bounds);

    std::string key_;
    std::string origin_;
    int line_;
    const Node* choices_ = nullptr;
    bool is_log_ = false;
    bool is_integer_ = false;
    double low_ = 0.0, high_ = 0.0;
};

}  // namespace fedhive::sim
