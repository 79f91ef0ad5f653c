#include "sim/state/state_header.h"

#include "aggregation/base/error.h"
#include "sim/state/state_file.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace fedhive::sim {

namespace {

/// Receives nlohmann's events. Every function returns true to continue, or throws.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit HeaderReader(const std::string& what) : what_(what) {}

    StateHeader take() { return std::move(header_); }

    bool start_object(std::size_t) override {
        if (place_ == Place::Outside) return go(Place::Header);
        if (place_ != Place::Header) unexpected();
        if (key_ == kMetadata) return go(Place::Metadata);
        header_.tensors.push_back({key_, {}, {}, 0, 0});
        seen_ = 0;
        return go(Place::Tensor);
    }

    bool end_object() override {
        if (place_ == Place::Header) return go(Place::Outside);
        if (place_ == Place::Tensor && seen_ != (kDtype | kShape | kOffsets))
            refuse(fmt::format("tensor '{}' has no dtype, shape or data_offsets", shown(name())));
        return go(Place::Header);
    }

    bool key(std::string& text) override {
        key_ = std::move(text);
        if (place_ == Place::Header && key_ == kMetadata && std::exchange(has_metadata_, true))
            refuse("its header has __metadata__ twice");
        if (place_ == Place::Metadata && header_.metadata.contains(key_))
            refuse(fmt::format("its metadata have '{}' twice", shown(key_)));
        if (place_ == Place::Tensor) start_field();
        return true;
    }

    bool start_array(std::size_t) override {
        if (place_ != Place::Tensor || field_ == kDtype) unexpected();
        return go(field_ == kShape ? Place::Shape : Place::Offsets);
    }

    bool end_array() override {
        if (place_ == Place::Offsets && num_offsets_ != 2) unexpected();
        return go(Place::Tensor);
    }

    bool number_unsigned(std::uint64_t value) override {
        if (place_ == Place::Shape) {
            header_.tensors.back().shape.push_back(value);
        } else if (place_ == Place::Offsets) {
            HeaderTensor& tensor = header_.tensors.back();
            (num_offsets_++ == 0 ? tensor.begin : tensor.end) = value;
        } else {
            unexpected();
        }
        return true;
    }

    bool string(std::string& text) override {
        if (place_ == Place::Metadata) {
            header_.metadata.emplace(key_, std::move(text));
        } else if (place_ == Place::Tensor && field_ == kDtype) {
            header_.tensors.back().dtype = std::move(text);
        } else {
            unexpected();
        }
        return true;
    }

    bool null() override { unexpected(); }
    bool boolean(bool) override { unexpected(); }
    bool number_integer(std::int64_t) override { unexpected(); }  // called for negative numbers only
    bool number_float(double, const std::string&) override { unexpected(); }
    bool binary(nlohmann::json::binary_t&) override { unexpected(); }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
        refuse(fmt::format("its header is not valid JSON at byte {}", position));
    }

private:
    enum class Place { Outside, Header, Metadata, Tensor, Shape, Offsets };
    enum Field : unsigned { kDtype = 1, kShape = 2, kOffsets = 4 };

    [[noreturn]] void refuse(const std::string& problem) const {
        throw ConfigError(fmt::format("{}: not a safetensors file: {}", what_, problem));
    }

    bool go(Place place) {
        place_ = place;
        return true;
    }

    const std::string& name() const { return header_.tensors.back().name; }

    /// Starts the field `key_`: dtype, shape or data_offsets, each once.
    void start_field() {
        if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets")
            refuse(fmt::format("tensor '{}' has '{}'; allowed: dtype, shape and data_offsets", shown(name()), shown(key_)));
        field_ = key_ == "dtype" ? kDtype : key_ == "shape" ? kShape : kOffsets;
        if ((seen_ & field_) != 0) refuse(fmt::format("tensor '{}' has its {} twice", shown(name()), key_));
        seen_ |= field_;
        num_offsets_ = 0;
    }

    /// Rejects a value that is not allowed at this place.
    [[noreturn]] void unexpected() const {
        if (place_ == Place::Outside) refuse("its header is not a JSON object");
        if (place_ == Place::Header) refuse(fmt::format("the entry '{}' of its header is not an object", shown(key_)));
        if (place_ == Place::Metadata) refuse(fmt::format("its metadata '{}' is not a string", shown(key_)));
        const char* wanted = field_ == kDtype   ? "its dtype is not a string"
                             : field_ == kShape ? "its shape is not a list of integers from 0"
                                                : "its data_offsets are not two integers from 0";
        refuse(fmt::format("tensor '{}': {}", shown(name()), wanted));
    }

    const std::string& what_;
    StateHeader header_;
    Place place_ = Place::Outside;
    bool has_metadata_ = false;
    std::string key_;
    Field field_ = kDtype;
    unsigned seen_ = 0;         // fields of the current tensor
    unsigned num_offsets_ = 0;  // of the current tensor
};

}  // namespace

StateHeader parse_state_header(std::string_view text, const std::string& what) {
    HeaderReader reader(what);
    nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
    return reader.take();
}

}  // namespace fedhive::sim
