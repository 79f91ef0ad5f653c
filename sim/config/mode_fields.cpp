// The keys of `mode`.
#include "sim/config/fields.h"

namespace fedhive::sim {

// Two lines a key read better than six.
// clang-format off
void describe_mode(Visitor& visitor, ModeConfig& mode) {
    const auto when = [&](std::vector<std::string> names) { return Condition{mode.name, "name", std::move(names)}; };
    visitor.begin({.name = "mode", .flow = true, .doc = "Who waits for whom; docs/modes.md tells what a round, a version and a client mean in each."});
    visitor.field({.name = "name", .target = &mode.name, .choices = mode_names(),
                   .doc = "synchronous: a round ends when its cohort has arrived (arXiv:1602.05629); semi_async: when `quorum` of the clients on "
                          "their way have, each of them replaced as it arrives (FedBuff, arXiv:2106.06639); async: every arrival is mixed into the model (FedAsync, arXiv:1903.03934); "
                          "gradient_averaging: replicas that average their gradients in every step (DistributedDataParallel, arXiv:2006.15704); "
                          "parameter_server: the server steps with each gradient as it arrives (Li et al. 2014); hogwild: all workers write one model "
                          "without a lock (arXiv:1106.5730); split: a client keeps the first layers, the server the others (arXiv:2004.12088)."});
    visitor.field({.name = "quorum", .target = &mode.quorum, .range = between(1, kMost), .when = when({"synchronous", "semi_async"}),
                   .default_note = "the cohort",
                   .doc = "Arrivals that end a round, at most training.cohort. synchronous: who comes later is left behind (over-selection, "
                          "arXiv:1902.01046: a cohort of 1.3 times the quorum); semi_async: joins a later round; must be given there, typically 10 (K)."});
    visitor.field({.name = "alpha", .target = &mode.alpha, .range = fraction(), .when = when({"async"}),
                   .doc = "How much of a fresh arrival is mixed into the model, typically 0.6 (α)."});
    visitor.field({.name = "staleness", .target = &mode.staleness, .choices = {"constant", "hinge", "polynomial"}, .when = when({"semi_async", "async"}),
                   .doc = "What an arrival counts that τ server steps have overtaken. constant: 1; hinge: 1 up to τ = b, then 1 / (a (τ - b) + 1); "
                          "polynomial: (1 + τ)^-a; 1 / sqrt(1 + τ) is FedBuff's (s)."});
    // Without a discount there is nothing to shape.
    const bool discounts = mode.name == "semi_async" || mode.name == "async";
    const std::string shape = discounts ? mode.staleness : "constant";
    visitor.field({.name = "staleness_a", .target = &mode.staleness_a, .range = between(0, 1000),
                   .when = Condition{shape, "staleness", {"hinge", "polynomial"}},
                   .doc = "hinge: slope, typically 10; polynomial: exponent, typically 0.5 (a)."});
    visitor.field({.name = "staleness_b", .target = &mode.staleness_b, .range = between(0, kMost), .when = Condition{shape, "staleness", {"hinge"}},
                   .doc = "Server steps without a discount, typically 4 (b)."});
    visitor.field({.name = "at_end", .target = &mode.at_end, .choices = {"drop", "drain"}, .when = when({"semi_async", "async"}),
                   .doc = "Clients still on their way when the last round ends. drop: their work is lost, and counted in the manifest; drain: the last "
                          "rounds send nobody who could not arrive any more."});
    visitor.field({.name = "all_reduce", .target = &mode.all_reduce, .choices = {"star", "ring", "tree"}, .when = when({"gradient_averaging"}),
                   .doc = "How replicas sum their gradients. star: one takes all and gives all, as DataParallel does; ring: each adds its part around; "
                          "tree: pairs of pairs, the same bits as star. Can change the last bit."});
    visitor.field({.name = "max_staleness", .target = &mode.max_staleness, .range = between(0, kMost), .when = when({"parameter_server"}),
                   .default_note = "any",
                   .doc = "Server steps that may pass between a client's pull and its push; clients wait where it would be more. 0 is sequential SGD."});
    visitor.field({.name = "data", .target = &mode.data, .choices = {"partitioned", "full"}, .when = when({"hogwild"}),
                   .doc = "partitioned: a client's own examples; full: all training examples for every client, each in an order of its own."});
    visitor.field({.name = "cut", .target = &mode.cut, .when = when({"split"}), .required = true,
                   .doc = "The last layer of the client's half, by its name in the model's tensors, such as conv2; what follows is the server's."});
    visitor.end();
}
// clang-format on

}  // namespace fedhive::sim
