#include "clients/uploads/upload.h"

#include "aggregation/base/normals.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/param_buffer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace fedhive::clients {

namespace {

constexpr std::size_t kNoiseAtOnce = 4096;

/// A keyed permutation of [0, size): a Feistel network over the next power of four, walked until the number is in range.
std::uint64_t permuted(std::uint64_t number, std::uint64_t size, std::uint64_t key) {
    const auto half_bits = (static_cast<unsigned>(std::bit_width(size - 1)) + 1) / 2;
    const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
    do {
        std::uint64_t left = number >> half_bits, right = number & mask;
        for (std::uint32_t round = 0; round < 4; ++round) {
            const auto mixed =
                Stream::philox({static_cast<std::uint32_t>(right), static_cast<std::uint32_t>(right >> 32), round, 0},
                               {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
            left = std::exchange(right, left ^ (mixed[0] & mask));
        }
        number = left << half_bits | right;
    } while (number >= size);
    return number;
}

/// The value of a key with one number. One that may be left out must be given by now.
double number_of(const Values& values, const KeySpec& key) {
    if (std::holds_alternative<std::int64_t>(key.default_value)) return static_cast<double>(values.integer(key.name));
    if (!std::holds_alternative<std::optional<double>>(key.default_value)) return values.number(key.name);
    const std::optional<double> number = values.optional_number(key.name);
    FEDHIVE_CHECK(number, "'{}' has no number", key.name);
    return *number;
}

/// The norm that no update exceeds after a step that bounds.
double bound_behind(const UploadSpec& spec, const UploadStep& step, double clip_norm) {
    return spec.adapts ? clip_norm : step.numbers[0];
}

}  // namespace

// Each is defined in the file of its name.
UploadSpec clip();
UploadSpec adaptive_clip();
UploadSpec gaussian_noise();
UploadSpec sign_flip();
UploadSpec random_update();
UploadSpec scaled_update();
UploadSpec top_k();
UploadSpec random_k();
UploadSpec quantize();
UploadSpec sign();
UploadSpec fp16();
UploadSpec terngrad();
UploadSpec stc();
UploadSpec drive();
UploadSpec eden();
UploadSpec laplace_noise();
UploadSpec priv_unit();
UploadSpec error_feedback();

const std::vector<UploadSpec>& upload_catalog() {
    static const std::vector<UploadSpec> catalog = {
        clip(),          adaptive_clip(), gaussian_noise(), laplace_noise(), priv_unit(), sign_flip(),
        random_update(), scaled_update(), top_k(),          random_k(),      stc(),       quantize(),
        sign(),          terngrad(),      drive(),          eden(),          fp16(),      error_feedback()};
    return catalog;
}

const std::vector<UploadSpec>& download_catalog() {
    static const std::vector<UploadSpec> catalog = [] {
        std::vector<UploadSpec> compressing;
        for (const UploadSpec& spec : upload_catalog())
            if (spec.shrink != nullptr || spec.keeps_residual()) compressing.push_back(spec);
        return compressing;
    }();
    return catalog;
}

UploadStep upload_step(const std::string& name, const Values& values) {
    const UploadSpec& spec = entry_of(upload_catalog(), name, "step of an upload");
    const Values complete = completed(values, spec.keys);
    UploadStep step{.kind = static_cast<std::uint32_t>(&spec - upload_catalog().data())};
    FEDHIVE_CHECK(spec.keys.size() <= UploadStep::kMostKeys, "'{}' has {} keys", name, spec.keys.size());
    for (std::size_t i = 0; i < spec.keys.size(); ++i) {
        step.numbers[i] = number_of(complete, spec.keys[i]);
    }
    return step;
}

UploadSize upload_size(const UploadPlan& plan, const aggregation::Layout& sent) {
    UploadSize size{.parameters = sent.num_parameters(),
                    .other_bytes = (sent.num_values() - sent.num_parameters()) * sizeof(float)};
    for (const aggregation::LayoutEntry& entry : sent.entries())
        if (entry.kind == aggregation::TensorKind::Parameter) ++size.tensors;
    for (std::uint32_t i = 0; i < plan.size; ++i)
        if (const auto shrink = upload_catalog().at(plan.steps[i].kind).shrink) shrink(size, plan.steps[i]);
    return size;
}

double noise_of_sum(const UploadPlan& plan, double clip_norm) {
    double bound = 0.0, noise = 0.0;
    for (std::uint32_t i = 0; i < plan.size; ++i) {
        const UploadSpec& spec = upload_catalog().at(plan.steps[i].kind);
        if (spec.noise_of_sum) noise = plan.steps[i].numbers[0] * bound;
        if (spec.bounds) bound = bound_behind(spec, plan.steps[i], clip_norm);
    }
    return noise;
}

std::optional<UploadStep> adapting_step(const UploadPlan& plan) {
    for (std::uint32_t i = 0; i < plan.size; ++i)
        if (upload_catalog().at(plan.steps[i].kind).adapts) return plan.steps[i];
    return std::nullopt;
}

ReportSpec report_of_clip() {
    return {
        std::string(kWithinClip), "0 or 1",
        "only with upload step `adaptive_clip`: 1 if the update was no longer than `clip_norm` of rounds.csv; empty after a "
        "failure"};
}

bool UploadChain::apply(aggregation::ParamSpan local, aggregation::ConstParamSpan global, std::uint64_t seed,
                        std::uint32_t round, std::uint32_t client_id, std::uint64_t num_together,
                        const aggregation::VisitMemories& memories, double clip_norm) {
    if (plan_.size == 0) return true;
    reserve(local);
    Stream keys(seed, Purpose::Upload, round, client_id);
    aggregation::ParamSpan after;  // of the residual
    Upload upload{local, global, scratch_, layout_, sent_, plan_, 0, client_id, num_together, clip_norm};
    for (std::uint32_t i = 0; i < plan_.size; ++i) {
        upload.key = keys.next_u64();
        const UploadSpec& spec = upload_catalog().at(plan_.steps[i].kind);
        if (spec.keeps_residual()) {
            const std::string_view name = spec.memories.front().name;
            add_residual(upload, memories.own(name));
            after = memories.written(name);
        } else {
            spec.apply(upload, plan_.steps[i]);
        }
        if (spec.bounds) upload.norm_bound = bound_behind(spec, plan_.steps[i], clip_norm);
        upload.has_left_out = upload.has_left_out || spec.leaves_out;
        upload.keeps_residual = upload.keeps_residual || spec.keeps_residual();
    }
    if (after.size > 0) write_residual(upload, after);
    return upload.within_clip;
}

void UploadChain::compress(aggregation::ParamSpan sent, aggregation::ConstParamSpan before, std::uint64_t seed,
                           std::uint32_t round) {
    reserve(sent);
    Stream keys(seed, Purpose::Broadcast, round);
    Upload upload{sent, before, scratch_, layout_, sent_, plan_};
    for (std::uint32_t i = 0; i < plan_.size; ++i) {
        upload.key = keys.next_u64();
        const UploadSpec& spec = upload_catalog().at(plan_.steps[i].kind);
        if (!spec.keeps_residual()) spec.apply(upload, plan_.steps[i]);
        upload.has_left_out = upload.has_left_out || spec.leaves_out;
        upload.keeps_residual = upload.keeps_residual || spec.keeps_residual();
    }
}

void UploadChain::reserve(aggregation::ParamSpan like) {
    if (scratch_.span().size == 0) scratch_ = aggregation::ParamBuffer(like.size, like.space);
}

void UploadChain::add_residual(const Upload& upload, aggregation::ConstParamSpan before) {
    const std::size_t trainable = layout_.num_trainable();
    const aggregation::ParamSpan local = upload.local.first(trainable);
    if (wanted_.span().size == 0) wanted_ = aggregation::ParamBuffer(trainable, local.space);
    aggregation::write_update(wanted_, local, upload.global.part(0, trainable));
    if (before.size == 0) return;
    aggregation::copy(upload.scratch.first(trainable), before);
    aggregation::add(wanted_, upload.scratch.first(trainable));
    aggregation::copy(local, upload.global.part(0, trainable));
    aggregation::add(local, wanted_);
}

void UploadChain::write_residual(const Upload& upload, aggregation::ParamSpan after) const {
    const aggregation::ParamSpan sent = upload.scratch.first(after.size);
    aggregation::write_update(sent, upload.local.first(after.size), upload.global.part(0, after.size));
    aggregation::copy(after, wanted_.span());
    aggregation::add_scaled(after, sent, -1.0);
}

void scale_upload(Upload& upload, double factor) {
    aggregation::write_update(upload.scratch, upload.local, upload.global);
    aggregation::scale(upload.scratch, upload.scratch, factor);
    aggregation::copy(upload.local, upload.global);
    aggregation::add(upload.local, upload.scratch);
}

void add_drawn(aggregation::ParamSpan values, const aggregation::Layout& layout, std::uint64_t key,
               const std::function<void(const Stream& stream, std::span<float> block)>& add) {
    const auto add_to = [&](aggregation::ParamSpan to) {
        std::uint32_t tensor = 0;
        for (const aggregation::LayoutEntry& entry : layout.entries()) {
            const std::span<float> all = to.part(entry.offset, entry.size).host();
            for (std::size_t first = 0, block = 0; first < all.size(); first += kNoiseAtOnce, ++block)
                add(Stream(key, Purpose::Upload, static_cast<std::uint32_t>(block), tensor),
                    all.subspan(first, std::min(kNoiseAtOnce, all.size() - first)));
            ++tensor;
        }
    };
    if (values.space == aggregation::MemorySpace::Host) return add_to(values);
    aggregation::ParamBuffer drawn(values.size, aggregation::MemorySpace::Host);
    add_to(drawn);
    const aggregation::ParamBuffer noise(values.size, values.space);
    aggregation::copy(noise, drawn);
    aggregation::add(values, noise);
    aggregation::synchronize(values.space);  // before the buffers are destroyed
}

void add_noise(aggregation::ParamSpan values, const aggregation::Layout& layout, std::uint64_t key, double std) {
    std::array<double, kNoiseAtOnce> normals{};
    add_drawn(values, layout, key, [&](const Stream& stream, std::span<float> block) {
        fill_normals(stream, std::span(normals).first(block.size()));
        for (std::size_t i = 0; i < block.size(); ++i) block[i] += static_cast<float>(std * normals[i]);
    });
}

bool misbehaves(const Upload& upload, double share) {
    return misbehaves(upload.client_id, share, upload.plan.num_clients, upload.plan.sampling_seed);
}

bool misbehaves(std::uint32_t client_id, double share, std::uint64_t num_clients, std::uint64_t sampling_seed) {
    const auto count = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(num_clients)));
    return permuted(client_id, num_clients, Stream(sampling_seed, Purpose::Upload).next_u64()) < count;
}

}  // namespace fedhive::clients
