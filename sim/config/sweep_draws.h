// Values that `random` draws for a key. Private to sim/config.
#pragma once

#include "sim/config/tree.h"

#include <cstdint>

namespace fedhive::sim {

class KeyDraw {
public:
    /// `node` is {uniform: [low, high]}, {log_uniform: [low, high]} or {choice: [...]} and must outlive this object. Throws ConfigError for
    /// another node, low not below high, a bound of log_uniform not above 0, no integer between the bounds of an integer key, and numbers for
    /// a key that is not a number.
    KeyDraw(std::string key, const YamlNode& node);

    const std::string& key() const { return key_; }

    /// The value of draw `index`, with the line of `node`. Depends only on seed, key and index, so that more runs or another
    /// drawn key do not change it. Numbers are rounded to 6 significant digits, since the last bits of logarithms differ
    /// between machines. An integer key gets every integer from low to high, the ends as likely as their neighbours.
    YamlNode value(std::uint64_t seed, std::uint32_t index) const;

private:
    void read_bounds(const std::string& path, const YamlNode& bounds);

    std::string key_;
    std::string origin_;
    int line_;
    const YamlNode* choices_ = nullptr;
    bool is_log_ = false;
    bool is_integer_ = false;
    double low_ = 0.0, high_ = 0.0;
};

}  // namespace fedhive::sim
