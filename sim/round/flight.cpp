#include "sim/round/flight.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <utility>

namespace fedhive::sim {

clients::ClientResult with_step(const clients::ClientResult& sum, const clients::ClientResult& step, std::uint64_t examples,
                                std::uint64_t examples_before) {
    const auto before = static_cast<double>(examples_before);
    const auto now = static_cast<double>(examples);
    clients::ClientResult result = step;
    result.steps += sum.steps;
    result.train_loss = (sum.train_loss * before + step.train_loss * now) / (before + now);
    result.update_hash += sum.update_hash;
    result.seconds += sum.seconds;
    result.gather_s += sum.gather_s;
    result.update_s += sum.update_s;
    if (sum.steps > 0) result.start_ns = sum.start_ns;
    return result;
}

bool Flight::wanted() const {
    return std::any_of(clients.begin(), clients.end(), [](const Participant& client) { return !client.attempts.dropped; });
}

void Flight::wait(std::uint64_t present) {
    FEDHIVE_CHECK(state != FlightState::Arrived, "a flight that has arrived waits for no model");
    state = FlightState::Waits;
    waits_since = present;
}

void Flight::pull(std::uint64_t from, std::uint32_t index, double arrival_s) {
    FEDHIVE_CHECK(state == FlightState::Waits, "a flight that has a model pulls another one");
    state = FlightState::HasModel;
    version = from;
    task.global_index = index;
    arrives_s = arrival_s;
}

void Flight::put() {
    FEDHIVE_CHECK(state != FlightState::Waits, "a flight without a model is put");
    if (state == FlightState::HasModel) state = FlightState::OnBoard;
}

void Flight::arrive() {
    FEDHIVE_CHECK(state == FlightState::OnBoard, "a flight arrives twice, or before it was put");
    state = FlightState::Arrived;
}

void Flight::end_step(std::uint64_t examples, std::uint64_t present) {
    FEDHIVE_CHECK(state == FlightState::OnBoard && steps_left > 0, "a flight has no step to end");
    examples_before += examples;
    --steps_left;
    ++task.step;
    clients.front().attempts.attempt = 1;
    clients.front().attempts.forgiven = 0;
    wait(present);
}

std::size_t Arrivals::sender_of(const aggregation::Update& update) const {
    const auto report = std::ranges::find_if(
        clients, [&](const ClientReport& client) { return client.slot == update.slot && !client.failure; });
    FEDHIVE_CHECK(report != clients.end() && update.clients == 1, "slot {} has no single client", update.slot);
    return static_cast<std::size_t>(report - clients.begin());
}

std::size_t Arrivals::accepted() const {
    return static_cast<std::size_t>(
        std::count_if(clients.begin(), clients.end(), [](const ClientReport& client) { return !client.failure; }));
}

std::size_t Arrivals::left_behind() const {
    return static_cast<std::size_t>(std::count_if(clients.begin(), clients.end(), [](const ClientReport& client) {
        return client.failure == clients::FailureKind::LeftBehind;
    }));
}

std::optional<double> Arrivals::train_loss() const {
    double sum = 0.0;
    double examples = 0.0;
    for (const ClientReport& client : clients) {
        if (client.failure) continue;
        sum += client.result.train_loss * static_cast<double>(client.num_examples);
        examples += static_cast<double>(client.num_examples);
    }
    return examples > 0.0 ? std::optional(sum / examples) : std::nullopt;
}

double Arrivals::staleness_mean() const {
    return static_cast<double>(staleness_sum) / static_cast<double>(std::max<std::uint64_t>(1, num_arrived));
}

void Arrivals::append(Arrivals turn) {
    updates = std::move(turn.updates);
    root = turn.root;
    if (clients.empty())
        clients = std::move(turn.clients);
    else
        clients.insert(clients.end(), turn.clients.begin(), turn.clients.end());
    slots = std::move(turn.slots);
    order.insert(order.end(), turn.order.begin(), turn.order.end());
    last_ns = std::max(last_ns, turn.last_ns);
    num_arrived += turn.num_arrived;
    staleness_sum += turn.staleness_sum;
    traffic += turn.traffic;
}

}  // namespace fedhive::sim
