// Each image: a skeleton (a few polylines per digit), distorted by a random affine map and jitter, inked by
// distance to the strokes.
#include "clients/data/formats/glyphs.h"

#include "aggregation/base/error.h"
#include "aggregation/base/parallel.h"
#include "aggregation/base/random.h"
#include "clients/data/formats/drawn.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fedhive::clients {

namespace {

struct Point {
    float x = 0;
    float y = 0;
};

using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

constexpr std::size_t kSide = 28;
constexpr std::size_t kPixels = kSide * kSide;
constexpr std::size_t kDigits = 10;
constexpr std::size_t kGlyphsOfARange = 500;  // minimum per thread

// clang-format off
/// Skeletons of each digit's variants, in a box of x in [-5, 5] and y in [-8, 8], y downwards.
const std::array<std::vector<Glyph>, kDigits>& skeletons() {
    static const std::array<std::vector<Glyph>, kDigits> kSkeletons = {{
        {{{{0, -8}, {2.6F, -7}, {4.2F, -4.2F}, {4.7F, 0}, {4.2F, 4.2F}, {2.6F, 7}, {0, 8}, {-2.6F, 7}, {-4.2F, 4.2F},
           {-4.7F, 0}, {-4.2F, -4.2F}, {-2.6F, -7}, {0, -8}}}},
        {{{{0, -8}, {0, 0}, {0, 8}}},
         {{{-3, -5}, {0, -8}, {0, 0}, {0, 8}}},
         {{{-3, -5}, {0, -8}, {0, 0}, {0, 8}}, {{-3, 8}, {3, 8}}}},
        {{{{-4, -5}, {-3, -7.2F}, {-0.5F, -8}, {2.5F, -7.2F}, {4, -5}, {3.6F, -2.4F}, {1.5F, 0.8F}, {-1.5F, 4.2F}, {-4.2F, 8},
           {4.5F, 8}}},
         {{{-4, -5.5F}, {-2, -7.8F}, {1, -8}, {3.8F, -6}, {3.6F, -2.6F}, {1, 2}, {-2, 6}, {-4.2F, 7.4F}, {-3.6F, 5.4F},
           {-1.6F, 6}, {1, 7.8F}, {4.6F, 7.2F}}}},
        {{{{-3.8F, -6.4F}, {-1.5F, -8}, {1.8F, -7.8F}, {3.8F, -5.8F}, {3.4F, -2.8F}, {1.4F, -0.9F}, {-0.8F, -0.4F},
           {1.8F, 0.2F}, {4, 2.4F}, {4.2F, 5}, {2.4F, 7.4F}, {-0.6F, 8}, {-3, 7.4F}, {-4.4F, 5.6F}}},
         {{{-4, -8}, {3.8F, -8}, {-0.6F, -1.8F}, {2.2F, -0.8F}, {4.1F, 1.8F}, {4.1F, 5}, {2.4F, 7.4F}, {-0.6F, 8}, {-3, 7.4F},
           {-4.4F, 5.6F}}}},
        {{{{2, 8}, {2, -8}, {-4.6F, 3}, {4.8F, 3}}},
         {{{-3.2F, -8}, {-3.8F, -3}, {-4, 1.4F}, {4.6F, 1.4F}}, {{2.6F, -5}, {2.4F, 1}, {2, 8}}}},
        {{{{4, -8}, {-3.2F, -8}, {-3.8F, -1}, {-1, -2}, {2, -1.6F}, {4.2F, 0.8F}, {4.3F, 4}, {2.6F, 7}, {-0.4F, 8}, {-3, 7.2F},
           {-4.4F, 5.4F}}}},
        {{{{3, -7.6F}, {0, -6.2F}, {-2.8F, -2.8F}, {-4.2F, 1.4F}, {-4, 5}, {-2, 7.6F}, {0.8F, 8}, {3.4F, 6.6F}, {4.3F, 3.6F},
           {3, 0.9F}, {0.4F, 0}, {-2.4F, 1.2F}, {-4, 4}}}},
        {{{{-4.2F, -8}, {4.4F, -8}, {1.2F, -1.5F}, {-1.4F, 8}}},
         {{{-4.2F, -8}, {4.4F, -8}, {1.2F, -1.5F}, {-1.4F, 8}}, {{-2.4F, -0.4F}, {3.4F, -0.4F}}}},
        {{{{0, -0.6F}, {-2.8F, -2.4F}, {-3.4F, -5}, {-2, -7.4F}, {0, -8}, {2, -7.4F}, {3.4F, -5}, {2.8F, -2.4F}, {0, -0.6F},
           {-3.2F, 1.4F}, {-4.2F, 4.2F}, {-2.8F, 7}, {0, 8}, {2.8F, 7}, {4.2F, 4.2F}, {3.2F, 1.4F}, {0, -0.6F}}}},
        {{{{4.1F, -4}, {2.4F, -1.2F}, {-0.4F, 0}, {-3, -0.9F}, {-4.3F, -3.6F}, {-3.4F, -6.6F}, {-0.8F, -8}, {2, -7.6F},
           {4, -5}, {4, 0}, {3.6F, 8}}},
         {{{4.1F, -4}, {2.4F, -1.2F}, {-0.4F, 0}, {-3, -0.9F}, {-4.3F, -3.6F}, {-3.4F, -6.6F}, {-0.8F, -8}, {2, -7.6F},
           {4, -5}, {4.2F, -1.4F}, {2.8F, 2.8F}, {0, 6.2F}, {-3, 7.6F}}}},
    }};
    return kSkeletons;
}
// clang-format on

float drawn_between(Stream& stream, float low, float high) {
    return low + (high - low) * static_cast<float>(stream() >> 8) * 0x1.0p-24F;
}

/// x' = a x + b y + c, y' = d x + e y + f: slant, scale, rotation and position in one map.
struct Affine {
    float a, b, c, d, e, f;

    Point operator()(Point p) const { return {a * p.x + b * p.y + c, d * p.x + e * p.y + f}; }
};

Affine random_affine(Stream& stream) {
    const float scale_x = drawn_between(stream, 0.90F, 1.50F);
    const float scale_y = drawn_between(stream, 0.90F, 1.30F);
    const float slant = drawn_between(stream, -0.30F, 0.30F);
    // Rotation without trigonometry, by at most 12 degrees: t = tan(angle / 2).
    const float t = drawn_between(stream, -0.105F, 0.105F);
    const float cosine = (1 - t * t) / (1 + t * t);
    const float sine = 2 * t / (1 + t * t);
    const float x = drawn_between(stream, 10.5F, 16.5F);
    const float y = drawn_between(stream, 11.0F, 16.0F);
    const float sheared = slant * scale_y;
    return {cosine * scale_x, cosine * sheared - sine * scale_y, x, sine * scale_x, sine * sheared + cosine * scale_y, y};
}

/// Draws strokes as a distance field: per pixel the squared distance to the nearest stroke.
class Pen {
public:
    explicit Pen(float radius) : radius_(radius) { squared_.fill(kFar); }

    void line(Point from, Point to) {
        const float reach = radius_ + 1;
        const std::size_t left = pixel(std::min(from.x, to.x) - reach), right = pixel(std::max(from.x, to.x) + reach + 1);
        const std::size_t top = pixel(std::min(from.y, to.y) - reach), bottom = pixel(std::max(from.y, to.y) + reach + 1);
        const float dx = to.x - from.x, dy = to.y - from.y;
        const float inverse = 1 / std::max(dx * dx + dy * dy, 1e-6F);
        for (std::size_t row = top; row < bottom; ++row) {
            const float y = static_cast<float>(row) - from.y;
            for (std::size_t column = left; column < right; ++column) {
                const float x = static_cast<float>(column) - from.x;
                const float along = std::clamp((x * dx + y * dy) * inverse, 0.0F, 1.0F);
                const float gap_x = x - along * dx, gap_y = y - along * dy;
                float& nearest = squared_[row * kSide + column];
                nearest = std::min(nearest, gap_x * gap_x + gap_y * gap_y);
            }
        }
    }

    /// Adds the strokes to the picture: full brightness inside, fading over one pixel.
    void ink(float brightness, std::array<float, kPixels>& picture) const {
        for (std::size_t i = 0; i < kPixels; ++i) {
            const float cover = std::clamp(radius_ + 0.5F - std::sqrt(squared_[i]), 0.0F, 1.0F);
            picture[i] = std::max(picture[i], brightness * cover);
        }
    }

private:
    static constexpr float kFar = 1e4F;

    static std::size_t pixel(float coordinate) {
        return static_cast<std::size_t>(std::clamp(coordinate, 0.0F, static_cast<float>(kSide)));
    }

    float radius_;
    std::array<float, kPixels> squared_{};
};

void draw_digit(std::size_t digit, Stream& stream, std::array<float, kPixels>& picture) {
    const auto& variants = skeletons()[digit];
    const Glyph& glyph = variants[stream.below(variants.size())];
    const Affine place = random_affine(stream);
    const float brightness = drawn_between(stream, 110, 240);
    Pen pen(drawn_between(stream, 0.6F, 1.6F));
    constexpr float kJitter = 0.7F;
    for (const Stroke& stroke : glyph) {
        Point last;
        for (std::size_t i = 0; i < stroke.size(); ++i) {
            const float x = stroke[i].x + drawn_between(stream, -kJitter, kJitter);
            const Point next = place({x, stroke[i].y + drawn_between(stream, -kJitter, kJitter)});
            if (i > 0) pen.line(last, next);
            last = next;
        }
    }
    pen.ink(brightness, picture);
}

/// A short line that belongs to no digit.
void draw_distractor(Stream& stream, std::array<float, kPixels>& picture) {
    const float x = drawn_between(stream, 0, 27), y = drawn_between(stream, 0, 27);
    const float dx = drawn_between(stream, -6, 6), dy = drawn_between(stream, -6, 6);
    const float brightness = drawn_between(stream, 60, 180);
    Pen pen(drawn_between(stream, 0.5F, 1.1F));
    pen.line({x, y}, {x + dx, y + dy});
    pen.ink(brightness, picture);
}

void draw_image(std::size_t digit, Stream stream, std::span<std::uint8_t> pixels) {
    std::array<float, kPixels> picture{};
    draw_digit(digit, stream, picture);
    for (std::uint64_t left = stream.below(3); left > 0; --left) draw_distractor(stream, picture);
    const float noise = drawn_between(stream, 0.05F, 0.25F);
    for (std::size_t i = 0; i < kPixels; ++i) {
        // Sum of four random bytes: close to a normal distribution, of standard deviation 148.
        const std::uint32_t word = stream();
        const std::uint32_t sum = (word & 255U) + (word >> 8 & 255U) + (word >> 16 & 255U) + (word >> 24);
        const float value = picture[i] + noise * (static_cast<float>(sum) - 510.0F);
        pixels[i] = static_cast<std::uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F));
    }
}

Examples draw_part(std::size_t size, Purpose purpose, std::uint64_t seed) {
    FEDHIVE_CHECK(size < std::numeric_limits<std::uint32_t>::max(), "{} glyphs", size);
    Examples part{{1, kSide, kSide}, std::vector<std::uint8_t>(size * kPixels), std::vector<std::int32_t>(size)};
    for (std::size_t i = 0; i < size; ++i) part.labels[i] = static_cast<std::int32_t>(i % kDigits);
    Stream order(seed, purpose);
    shuffle(std::span(part.labels), order);
    for_each_range(size, kGlyphsOfARange, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i)
            draw_image(static_cast<std::size_t>(part.labels[i]), Stream(seed, purpose, 1, static_cast<std::uint32_t>(i)),
                       std::span(part.values).subspan(i * kPixels, kPixels));
    });
    return part;
}

}  // namespace

Dataset draw_glyphs(std::size_t num_train, std::size_t num_test, std::uint64_t seed) {
    return {draw_part(num_train, Purpose::TrainData, seed), draw_part(num_test, Purpose::TestData, seed), kDigits};
}

DataFormat glyphs() {
    return {.name = "glyphs",
            .summary = "28×28 digits generated by the program; needs no file",
            .keys = counts_of_drawn(),
            .needs =
                [](const Values& values) {
                    return std::vector{need_of_drawn(values, {1, std::int64_t{kSide}, std::int64_t{kSide}})};
                },
            .shape =
                [](const Values&, TargetKind) {
                    return DataShape{{1, std::int64_t{kSide}, std::int64_t{kSide}}, kDigits};
                },
            .read =
                [](const Values& values, std::uint64_t seed, TargetKind) {
                    const DrawnCounts counts = counts_of(values);
                    return draw_glyphs(counts.train, counts.test, seed);
                }};
}

}  // namespace fedhive::clients
