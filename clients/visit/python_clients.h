// Trains whole clients by a Python function of the user (strategy.visit). Each worker has one Python process, which runs the visits of the
// clients that the worker trains (scripts/lib/fedhive/visits.py) and ends with the worker. The worker still claims tasks, is supervised, and
// writes updates.
//
//   one segment that both processes map:
//     [ taken | vector | memory | x | y | order | ends ]     number of batches taken; the model; the client's memories; its examples, gathered
//                                                            and normalised; their positions in all batches; the end of each batch
#pragma once

#include "aggregation/math/client_optimizer.h"
#include "aggregation/memory/layout.h"
#include "aggregation/memory/memories.h"
#include "aggregation/memory/shared_segment.h"
#include "clients/data/batches.h"
#include "clients/data/shared_dataset.h"
#include "clients/models/catalog.h"
#include "clients/protocol/python_process.h"
#include "clients/protocol/reports.h"
#include "clients/visit/whole_clients.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::clients {

/// The user's file as JSON in a segment that workers inherit: {"file": path, "key": the config key that names it, "source": its text, "keys":
/// {name: number}, "memory": names, "reports": names}. Plain data.
struct VisitHandle {
    int descriptor = -1;
    std::uint64_t bytes = 0;

    bool given() const { return descriptor >= 0; }
};

/// The settings that all visits of a run share; the references must outlive the clients.
struct PythonVisits {
    VisitHandle visit;
    const ModelSpec& model;
    const aggregation::Memories& memories;
    const SharedDataset& dataset;
    Normalization normalization;
    const LocalTraining& training;
    const aggregation::OptimizerOptions& optimizer;
    const Reports& reports;
    int threads = 1;
    bool on_terminal = false;  // the function uses this process's terminal, for a debugger

    /// Called about twenty times a second while the function runs; if it throws, the Python process ends. moved: whether the function has taken
    /// a batch since the last call.
    std::function<void(bool moved)> while_waiting;
};

/// Bytes of the segment for clients with at most `examples` examples.
std::uint64_t python_segment_bytes(std::uint64_t num_floats, const aggregation::Memories& memories, const DatasetMap& data,
                                   const LocalTraining& training, std::uint64_t examples);

/// Trains one client at a time.
///
/// Order    the function gets the order of the examples and the key of a random generator, both keyed by (seed, purpose, round, client_id) as in
///          enqueue_clients(). All other bits are up to the function.
/// Memory   the segment, as large as the largest client needs, and the Python process.
class PythonClients final : public WholeClients {
public:
    /// Starts the Python process and waits until it has read the file. Throws Fault with its message if it cannot.
    explicit PythonClients(PythonVisits visits);

    /// To be called before train(): copies the client's memories, or their first values, and those that the server sent.
    void begin(const aggregation::VisitMemories& memories);

    std::size_t num_rows() const override { return 1; }
    bool rows_share_steps() const override { return false; }

    /// Throws TaskFailed with FILE:LINE and the error if the function raises an exception or returns a wrong value, or if its process ends; also
    /// throws what while_waiting throws. If the process has ended, the next client starts a new one.
    void train(const LocalTraining& plan, const RoundRate& rate, std::uint32_t round, std::span<const RowClient> clients,
               aggregation::ConstParamSpan global, std::span<ClientResult> results) override;

    aggregation::ParamSpan parameters_of(std::size_t row) override;

    /// To be called after train(): writes the memories that the client keeps and those that it sends, if they are needed, and its reports.
    /// Returns false if a number is not finite.
    bool end(const aggregation::VisitMemories& memories, ReportValues& reports) const;

private:
    /// Offsets of the segment's parts in bytes.
    struct Places {
        std::uint64_t taken = 0, vector = 0, memory = 0, x = 0, y = 0, order = 0, ends = 0, all = 0;
    };
    struct Kept {
        std::string name;
        std::uint64_t offset = 0, floats = 0;  // in the part
        const aggregation::Memory* memory = nullptr;
        bool is_new = false;  // it has no value yet: train() sets it to the model that is sent
    };
    aggregation::ParamSpan values_of(const Kept& kept) const;
    friend std::uint64_t python_segment_bytes(std::uint64_t, const aggregation::Memories&, const DatasetMap&,
                                              const LocalTraining&, std::uint64_t);
    static Places places_for(std::uint64_t num_floats, std::uint64_t memory_floats, const DatasetMap& data,
                             const LocalTraining& training, std::uint64_t examples);

    template <typename T>
    std::span<T> part(std::uint64_t offset, std::uint64_t count) const {
        return {reinterpret_cast<T*>(segment_->data() + offset), count};
    }
    void start();
    std::string ask(const std::string& request);
    std::uint64_t write_order(const LocalTraining& plan, std::uint32_t round, const RowClient& client);
    void zero_padding();

    PythonVisits visits_;
    BatchGather gather_;
    aggregation::Layout layout_;
    std::string file_, source_, key_;
    std::string keys_;  // as JSON
    std::vector<std::size_t> report_places_;
    std::vector<double> reported_;  // of the last visit, in the order of report_places_
    std::vector<Kept> kept_;
    std::uint64_t memory_floats_ = 0;
    Places places_;
    std::optional<aggregation::SharedSegment> segment_{};
    std::optional<PythonProcess> process_{};
    std::vector<std::uint32_t> positions_;  // 0, 1, …
    std::uint64_t seen_taken_ = 0;
};

}  // namespace fedhive::clients
