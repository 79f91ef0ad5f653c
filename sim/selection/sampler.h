// Samplers: which clients are asked to train. Each sampler is one file of this folder, with its keys. To add one: write the
// file, add its line to catalog.cpp. A sampler knows no clock and no devices: it is given the clients that can be asked.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/base/random.h"
#include "sim/selection/candidates.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fedhive::sim {

/// What a sampler is told of an accepted client.
struct ClientOutcome {
    std::uint32_t client_id = 0;
    std::uint64_t num_examples = 0;
    std::uint64_t steps = 0;
    double train_loss = 0.0;   // mean over its examples
    double update_norm = 0.0;  // Euclidean
    double seconds = 0.0;      // of its round trip, simulated; on the wall clock: of its training, measured
};

/// A sampler draws from the stream that it is given, and from nothing else that is random. So its cohorts are the same for any
/// number of workers, on every rank and after a resume.
class Sampler {
public:
    Sampler() = default;
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;
    virtual ~Sampler() = default;

    /// Draws `count` of the candidates, ascending; all that it can choose if they are fewer. With `repeats`: always `count` draws, unless
    /// it can choose none, with each client as often as it was drawn.
    virtual Cohort sample(const Candidates& candidates, std::size_t count, Stream stream) = 0;

    /// False for a client that it never chooses.
    virtual bool asks(std::uint32_t) const { return true; }

    /// Call at the end of a round with the clients whose updates were accepted. A client that arrived twice is there twice.
    virtual void learn(std::span<const ClientOutcome>) {}

    /// What it remembers from round to round, as text; empty: nothing.
    virtual std::string state() const { return ""; }
    /// Goes on from what state() returned. False if `state` cannot be from this sampler.
    virtual bool restore(const std::string& state) { return state.empty(); }
};

struct SamplerInput {
    Values values;                                  // of all its keys
    std::span<const std::uint64_t> num_examples{};  // n_k, by client; only valid during build()
    /// Examples of each class that each client has, for a sampler by_labels; likewise.
    std::span<const std::vector<std::uint64_t>> label_counts{};
};

struct SamplerSpec {
    std::string name;
    std::string summary;  // what it does, and its source: half a line
    std::vector<KeySpec> keys;
    bool repeats = false;    // a client may be drawn several times in a round, and its update counts as often
    bool by_labels = false;  // its cohorts depend on the clients' class labels
    bool learns = false;     // its cohorts depend on clients' reports: on earlier training or on the current model
    /// The most clients that it asks for a measure (Candidates::measured) to choose a cohort; null: it never asks.
    std::uint64_t (*measured)(const Values& values, std::uint64_t cohort) = nullptr;
    std::string measure = "loss";  // the name of that measure (clients/tasks/measures.h)
    /// The key that makes it ask, and what to write there so that it does not.
    std::string asking_key = "name", not_asking = "another sampler";
    /// Its cohorts depend on how long clients took, so on the wall clock no two runs have the same; null: they never do.
    bool (*by_seconds)(const Values& values) = nullptr;
    /// Finds conflicts between values that are each valid; null: there can be none.
    std::optional<KeyProblem> (*check)(const Values& values, std::int64_t clients, std::int64_t cohort) = nullptr;
    std::unique_ptr<Sampler> (*build)(const SamplerInput& input) = nullptr;
};

/// All samplers, in the order of REFERENCE.md.
const std::vector<SamplerSpec>& sampler_catalog();

/// The name must exist.
const SamplerSpec& sampler_spec(const std::string& name);

}  // namespace fedhive::sim
