#include "tests/support/cuda_on_host/queue.h"

#include <algorithm>

namespace cuda_on_host {

CUstream_st* Queue::stream(cudaStream_t named) {
    if (named == nullptr || named == cudaStreamLegacy) return &legacy_;
    const auto found = std::find_if(created_.begin(), created_.end(), [=](const auto& one) { return one.get() == named; });
    return found == created_.end() ? nullptr : named;
}

cudaStream_t Queue::create(bool blocking) {
    created_.push_back(std::make_unique<CUstream_st>());
    created_.back()->blocking = blocking;
    return created_.back().get();
}

void Queue::destroy(CUstream_st* stream) {
    std::erase_if(created_, [=](const auto& one) { return one.get() == stream; });
}

void Queue::push(CUstream_st& stream, std::function<void()> run, std::function<bool()> may_run) {
    stream.work.push_back({++serial_, std::move(run), std::move(may_run)});
}

bool Queue::may_run(const CUstream_st& stream) const {
    if (stream.work.empty()) return false;
    const CUstream_st::Work& first = stream.work.front();
    const auto comes_before = [&](const CUstream_st& other) {
        return !other.work.empty() && other.work.front().serial < first.serial;
    };
    if (&stream == &legacy_) {
        for (const auto& other : created_)
            if (other->blocking && comes_before(*other)) return false;
    } else if (stream.blocking && comes_before(legacy_)) {
        return false;
    }
    return !first.may_run || first.may_run();
}

bool Queue::step(RandomOrder& random) {
    std::vector<CUstream_st*> ready;
    if (may_run(legacy_)) ready.push_back(&legacy_);
    for (const auto& stream : created_)
        if (may_run(*stream)) ready.push_back(stream.get());
    if (ready.empty()) return false;
    CUstream_st& chosen = *ready[random.below(ready.size())];
    const std::function<void()> run = std::move(chosen.work.front().run);
    chosen.work.pop_front();
    run();
    return true;
}

bool Queue::idle() const {
    return legacy_.work.empty() &&
           std::all_of(created_.begin(), created_.end(), [](const auto& one) { return one->work.empty(); });
}

void Queue::forget() {
    legacy_.work.clear();
    for (const auto& stream : created_) stream->work.clear();
}

}  // namespace cuda_on_host
