"""The names that the functions of a method file may read and set, place by place. Keys and memories come on top."""
from typing import NamedTuple, Optional, Tuple

from .grammar import FURTHER, RESERVED


class Place(NamedTuple):
    """One kind of function. target: the name of its result if it returns no dict; at_server: whether the server runs it."""

    vectors: Tuple[str, ...]
    numbers: Tuple[str, ...]
    target: Optional[str]
    at_server: bool
    has_cohort: bool = False


PLACES = {
    "gradient": Place(("g", "g_2", "w", "w_t", "g_t", "w_0", "local"), ("lr", "round", "step", "steps", "n"), "g", False),
    "after": Place(("w", "w_t", "g_t", "w_0", "local"), ("lr", "round", "step", "steps", "n"), "w", False),
    "loss": Place((), ("lr", "round", "n", "step", "steps"), "loss", False),  # losses.py says what else
    "measure": Place((), ("lr", "round", "n"), None, False),  # likewise
    "answer": Place((), ("lr", "round", "n"), "answer", False),  # likewise
    "second": Place(("g", "w", "w_t", "g_t", "w_0", "local"), ("lr", "round", "step", "steps", "n"), "w_2", False),
    "start": Place(("w_t", "g_t", "local"), ("lr", "round", "n"), "w", False),
    "end": Place(("w", "w_t", "g_t", "w_0", "u", "local"), ("lr", "round", "steps", "n", "loss"), None, False),
    "judge": Place(("w_t", "local"), ("lr", "round", "n"), "w", False),
    "cohort": Place((), ("round", "clients", "received"), None, True, True),
    "weight": Place((), ("round", "clients", "received"), "weight", True, True),
    "server": Place(("w", "u"), ("server_lr", "round", "clients", "received"), "w", True, True),
    "mix": Place(("w_t",), ("round", "clients", "received"), None, True, True),  # of each client of the round in turn; k.me marks it
}
# What a function with python=True finds, beside keys (own_code.py).
PYTHON_ARGUMENTS = {"server": ("updates", "clients", "state", "tensors", "round", "num_clients"), "visit": ("model", "weights", "vector", "tensors", "batches", "client")}
COHORT_NUMBERS = ("n", "steps", "loss", "norm", "sent_loss")  # one for each client, as k.n

ROOT_PLACES = ("cohort", "weight", "server")  # whose functions may have the argument root
ROOT_NUMBERS = ("dot_root", "cos_root")  # one for each client, as k.dot_root: with the root client's update, whose length is root_norm

# Names that a file may not declare.
GIVEN = frozenset(name for place in PLACES.values() for name in place.vectors + place.numbers) | frozenset(COHORT_NUMBERS + ROOT_NUMBERS) | RESERVED | {
    "k", "root", "root_norm", "count", "me", "weight", "w_2", *FURTHER, "model", "residual", "history"}  # the last three: fedhive's own memories
# Names that a key or a report may not have, since a config's section or a table has them; a test compares.
SECTION_KEYS = frozenset(("name", "file", "file_sha256", "gradient", "rule", "rule_sha256", "visit", "visit_sha256", "weighting", "local", "pre_aggregation",
                          "aggregator", "server"))
CLIENT_COLUMNS = frozenset(("round", "client_id", "worker", "slot", "num_examples", "steps", "train_loss", "update_norm", "update_hash", "seconds", "failure",
                            "sent_round", "staleness", "started_s", "gather_s", "update_s", "owner", "draws", "sent_loss", "sent_accuracy", "sent_gradient_norm",
                            "within_clip"))
CLIENT_PLACES = ("gradient", "after", "second", "start", "end", "judge")  # in the order in which they are read

# Parts of methods that fedhive knows in other ways, if at all: a method file names them in vain.
NOT_YET = frozenset(["train", "step", "gram"])
