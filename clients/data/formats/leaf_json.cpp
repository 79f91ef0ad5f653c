#include "clients/data/formats/leaf_json.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "aggregation/base/keys.h"
#include "aggregation/memory/shared_segment.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string_view>

namespace fedhive::clients {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLeafExamples = std::numeric_limits<std::uint32_t>::max();

std::string shown(const std::string& text) { return text.size() > 60 ? text.substr(0, 60) + "…" : text; }

/// Input iterator over a file's bytes for the parser, with a window of the file in memory.
class ByteWindow {
public:
    explicit ByteWindow(InputFile& file) : file_(file), bytes_(std::size_t{256} << 10) { fill(); }

    struct Iterator {
        using iterator_category = std::input_iterator_tag;
        using value_type = char;
        using difference_type = std::ptrdiff_t;
        using pointer = const char*;
        using reference = const char&;

        ByteWindow* window;  // null: the end

        const char& operator*() const { return window->bytes_[window->at_]; }
        Iterator& operator++() {
            if (++window->at_ == window->size_) window->fill();
            return *this;
        }
        bool at_end() const { return window == nullptr || window->at_ == window->size_; }
        bool operator==(const Iterator& other) const { return at_end() == other.at_end(); }
    };

private:
    void fill() {
        at_ = 0;
        size_ = file_.read(bytes_);
    }

    InputFile& file_;
    std::vector<char> bytes_;
    std::size_t at_ = 0, size_ = 0;
};

/// nlohmann's SAX handler for one file: a function per token. All return true; errors are thrown.
class LeafFile {
public:
    LeafFile(LeafPart& part, std::map<std::string, std::size_t>& known) : part_(part), known_(known) {}

    void read() {
        InputFile file(path());
        bytes_ = file.size();
        ByteWindow window(file);
        nlohmann::json::sax_parse(ByteWindow::Iterator{&window}, ByteWindow::Iterator{nullptr}, this);
        check_lists();
    }

    bool null() { return other("null"); }
    bool boolean(bool) { return other("true or false"); }
    bool number_integer(std::int64_t value) { return number(static_cast<double>(value)); }
    bool number_unsigned(std::uint64_t value) { return number(static_cast<double>(value)); }
    bool number_float(double value, const std::string&) { return number(value); }
    bool binary(const std::vector<std::uint8_t>&) { return other("bytes"); }

    bool string(const std::string& text) {
        if (skips()) return true;
        if (place_ == Place::Users)
            users_.push_back(text);
        else if (place_ == Place::Examples)
            add_characters(text);
        else if (place_ == Place::Labels)
            add_label(LeafKind::Characters, text.size() == 1 ? static_cast<unsigned char>(text[0]) : -1.0, text);
        else
            unexpected(fmt::format("the text '{}'", shown(text)));
        return true;
    }

    bool key(const std::string& name) {
        key_ = name;
        return true;
    }

    bool start_object(std::size_t) {
        if (enters_skipped()) return true;
        if (place_ == Place::Start)
            place_ = Place::File;
        else if (place_ == Place::File && key_ == "user_data" && part_.users.size() == first_user_)
            place_ = Place::Data;
        else if (place_ == Place::Data)
            begin_user();
        else
            unexpected(key_ == "user_data" ? "another object" : "an object");
        return true;
    }

    bool start_array(std::size_t) {
        if (enters_skipped()) return true;
        if (place_ == Place::File && key_ == "users")
            place_ = Place::Users;
        else if (place_ == Place::File && key_ == "num_samples")
            place_ = Place::Counts;
        else if (place_ == Place::User && key_ == "x" && num_examples() == 0)
            place_ = Place::Examples;
        else if (place_ == Place::User && key_ == "y" && num_labels() == 0)
            place_ = Place::Labels;
        else if (place_ == Place::Examples)
            begin_example();
        else
            unexpected("a list");
        return true;
    }

    bool end_object() {
        if (leaves_skipped()) return true;
        if (place_ == Place::User) end_user();
        place_ = place_ == Place::User ? Place::Data : Place::File;
        return true;
    }

    bool end_array() {
        if (leaves_skipped()) return true;
        if (place_ == Place::Example) {
            end_example();
            place_ = Place::Examples;
        } else {
            place_ = place_ == Place::Examples || place_ == Place::Labels ? Place::User : Place::File;
        }
        return true;
    }

    bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception& error) {
        std::string reason = error.what();
        for (const char* before : {"] ", " - "})
            if (const std::size_t at = reason.find(before); at != std::string::npos) reason.erase(0, at + std::strlen(before));
        throw ConfigError(fmt::format("{}: byte {} of {}: is not valid JSON: {}; the file is damaged or cut off",
                                      path().string(), byte, bytes_, reason.substr(0, 200)));
    }

private:
    enum class Place { Start, File, Users, Counts, Data, User, Examples, Example, Labels };

    const fs::path& path() const { return part_.files[file_]; }
    std::size_t num_examples() const { return examples_ - first_; }
    std::size_t num_labels() const { return part_.labels.size() - first_; }

    /// Throws ConfigError "FILE: user 'ann': x[3]: what".
    [[noreturn]] void refuse(const std::string& what) const {
        std::string where = path().string() + ": ";
        if (place_ >= Place::User) where += fmt::format("user '{}': ", shown(user_));
        if (place_ == Place::Examples || place_ == Place::Example) where += fmt::format("x[{}]: ", num_examples());
        if (place_ == Place::Labels) where += fmt::format("y[{}]: ", num_labels());
        throw ConfigError(where + what);
    }

    [[noreturn]] void unexpected(const std::string& found) const {
        switch (place_) {
            case Place::Start:
                refuse(fmt::format("begins with {}; expected: {}", found, form_of_file()));
            case Place::File:
                refuse(fmt::format("{} is {}; expected: {}", key_, found, form_of_file()));
            case Place::Users:
                refuse(fmt::format("users[{}] is {}; expected: a name", users_.size(), found));
            case Place::Counts:
                refuse(fmt::format("num_samples[{}] is {}; expected: a count", counts_.size(), found));
            case Place::Data:
                refuse(fmt::format("user '{}' is {}; expected: {{x: […], y: […]}}", shown(key_), found));
            case Place::User:
                refuse(fmt::format("{} is {}; expected: one list x and one list y", key_, found));
            case Place::Examples:
                refuse(fmt::format("is {}; expected: a list of numbers, or a text", found));
            case Place::Example:
                refuse(fmt::format("has {} among its numbers", found));
            case Place::Labels:
                refuse(fmt::format("is {}; expected: a class, or a character", found));
        }
        throw Fault("no such place in a LEAF file");
    }

    static const char* form_of_file() { return "an object with users, num_samples and user_data, as LEAF writes it"; }

    // --- Skipped: unknown keys of the file and of a user ---

    bool skips() const {
        if (skipped_ > 0) return true;
        if (place_ == Place::File) return key_ != "users" && key_ != "num_samples" && key_ != "user_data";
        return place_ == Place::User && key_ != "x" && key_ != "y";
    }
    bool enters_skipped() {
        if (!skips()) return false;
        ++skipped_;
        return true;
    }
    bool leaves_skipped() {
        if (skipped_ == 0) return false;
        --skipped_;
        return true;
    }

    bool other(const char* what) {
        if (!skips()) unexpected(what);
        return true;
    }

    bool number(double value) {
        if (skips()) return true;
        if (place_ == Place::Counts)
            counts_.push_back(value);
        else if (place_ == Place::Example)
            add_number(value);
        else if (place_ == Place::Labels)
            add_label(LeafKind::Numbers, value, fmt::format("{}", value));
        else
            unexpected(fmt::format("the number {}", value));
        return true;
    }

    // --- Users ---

    void begin_user() {
        user_ = key_;
        place_ = Place::User;
        key_.clear();
        const auto [before, is_new] = known_.try_emplace(user_, file_);
        if (!is_new)
            refuse(fmt::format("was already in {}; expected: each user once, with all its examples",
                               part_.files[before->second].string()));
        first_ = examples_;
        labels_are_ = LeafKind::Unknown;
    }

    void end_user() {
        if (num_examples() != num_labels())
            refuse(fmt::format("has {} examples x and {} labels y; expected: one label per example", num_examples(),
                               num_labels()));
        if (num_labels() > 0 && labels_are_ != part_.kind)
            refuse(part_.kind == LeafKind::Numbers
                       ? "has characters y for numbers x; expected: classes, integers from 0"
                       : "has numbers y for texts x; expected: the character that follows each text");
        part_.users.push_back({user_, num_examples(), file_});
    }

    /// Checks users and num_samples, if present, against user_data.
    void check_lists() {
        place_ = Place::File;
        if (part_.users.size() == first_user_) refuse(fmt::format("has no user in user_data; expected: {}", form_of_file()));
        const std::span<const LeafUser> found = std::span(part_.users).subspan(first_user_);
        if (!counts_.empty() && counts_.size() != users_.size())
            refuse(fmt::format("has {} users and {} num_samples; expected: one count per user", users_.size(), counts_.size()));
        if (users_.empty()) return;
        std::map<std::string, std::size_t> unnamed;
        for (const LeafUser& user : found) unnamed[user.name] = user.num_examples;
        for (std::size_t i = 0; i < users_.size(); ++i) {
            const auto user = unnamed.find(users_[i]);
            if (user == unnamed.end())
                refuse(fmt::format("users has '{}', {}", shown(users_[i]),
                                   std::ranges::count(users_, users_[i]) > 1 ? "twice; expected: each user once"
                                                                             : "user_data does not; the file is damaged"));
            if (!counts_.empty() && counts_[i] != static_cast<double>(user->second))
                refuse(fmt::format("user '{}': has {} examples, but num_samples says {}; the file is damaged", shown(users_[i]),
                                   user->second, counts_[i]));
            unnamed.erase(user);
        }
        if (!unnamed.empty())
            refuse(fmt::format("user '{}' is not among users; the file is damaged", shown(unnamed.begin()->first)));
    }

    // --- Examples ---

    void set_kind(LeafKind kind) {
        if (part_.kind == LeafKind::Unknown) part_.kind = kind;
        if (part_.kind != kind)
            refuse(kind == LeafKind::Numbers ? "is a list of numbers; expected: a text, like the first example"
                                             : "is a text; expected: a list of numbers, like the first example");
    }

    void begin_example() {
        set_kind(LeafKind::Numbers);
        place_ = Place::Example;
        numbers_.clear();
    }

    void add_number(double value) {
        const auto rounded = static_cast<float>(value);
        if (!std::isfinite(rounded)) refuse(fmt::format("has {}, which does not fit in f32", value));
        if (static_cast<double>(numbers_.size()) >= kWide) refuse(fmt::format("has more than {:.0f} numbers", kWide));
        numbers_.push_back(rounded);
    }

    void end_example() {
        add_example({reinterpret_cast<const char*>(numbers_.data()), numbers_.size() * sizeof(float)}, numbers_.size(),
                    "numbers");
    }

    void add_characters(const std::string& text) {
        set_kind(LeafKind::Characters);
        if (static_cast<double>(text.size()) > kWide) refuse(fmt::format("has more than {:.0f} characters", kWide));
        add_example(text, text.size(), "bytes of text");
    }

    void add_example(std::string_view bytes, std::size_t width, const char* what) {
        if (examples_ == 0) part_.width = width;
        if (width == 0 || width != part_.width)
            refuse(fmt::format("has {} {}; expected: {}", width, what,
                               width == part_.width ? "at least one" : fmt::format("{}, like the first example", part_.width)));
        if (examples_ == kMostLeafExamples) refuse(fmt::format("is one example more than the allowed {}", kMostLeafExamples));
        make_room(bytes.size());
        part_.values.insert(part_.values.end(), bytes.begin(), bytes.end());
        ++examples_;
    }

    /// Grows the values' memory, at most to half of the available memory, since the values are copied once later.
    void make_room(std::size_t bytes) {
        std::vector<std::uint8_t>& values = part_.values;
        if (values.size() + bytes <= values.capacity()) return;
        const std::size_t wanted = std::max({values.size() + bytes, 2 * values.capacity(), std::size_t{1} << 20});
        const std::uint64_t available = aggregation::available_memory_bytes();
        if (wanted > available / 2)
            refuse(
                fmt::format("examples need more than {} bytes, {} bytes of memory are available and half of it may be used; "
                            "use a sample of the data",
                            values.size(), available));
        values.reserve(wanted);
    }

    void add_label(LeafKind kind, double value, const std::string& text) {
        if (labels_are_ == LeafKind::Unknown) labels_are_ = kind;
        if (labels_are_ != kind || !(value >= 0.0) || value >= kWide || value != std::floor(value))
            refuse(fmt::format("is '{}'; expected: {}", shown(text),
                               labels_are_ == LeafKind::Numbers ? fmt::format("a class, an integer from 0, below {:.0f}", kWide)
                                                                : "one character, of one byte"));
        part_.labels.push_back(static_cast<std::int32_t>(value));
    }

    LeafPart& part_;
    std::map<std::string, std::size_t>& known_;  // users of this part, and the index of their file
    std::size_t file_ = part_.files.size() - 1;
    std::size_t first_user_ = part_.users.size();
    std::uint64_t bytes_ = 0;
    Place place_ = Place::Start;
    std::size_t skipped_ = 0;  // depth of skipped objects and lists
    std::string key_;          // the latest
    std::string user_;
    LeafKind labels_are_ = LeafKind::Unknown;  // of the current user
    std::size_t examples_ = part_.labels.size();
    std::size_t first_ = examples_;  // first example of the current user
    std::vector<float> numbers_;     // of the current example
    std::vector<std::string> users_;
    std::vector<double> counts_;
};

std::vector<fs::path> files_in(const fs::path& place) {
    std::error_code error;
    if (!fs::is_directory(place, error)) return {place};
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(place, error)) {
        if (entry.is_directory(error) && !entry.path().filename().string().starts_with('.'))
            throw ConfigError(
                fmt::format("{}: is a folder; put the files *.json into {} itself", entry.path().string(), place.string()));
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    if (error) throw ConfigError(fmt::format("{}: cannot be listed: {}", place.string(), error.message()));
    if (files.empty())
        throw ConfigError(place.string() +
                          ": has no file *.json; expected: the folder train or test that LEAF's split_data.py wrote");
    std::ranges::sort(files);
    return files;
}

}  // namespace

LeafPart read_leaf_part(const fs::path& place) {
    LeafPart part;
    std::map<std::string, std::size_t> known;
    for (const fs::path& file : files_in(place)) {
        part.files.push_back(file);
        LeafFile(part, known).read();
    }
    if (part.labels.empty()) throw ConfigError(fmt::format("{}: no user has an example", place.string()));
    return part;
}

}  // namespace fedhive::clients
