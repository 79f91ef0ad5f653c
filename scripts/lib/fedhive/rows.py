"""Values of an example, for @fh.loss: their shapes, and the shapes that each operation accepts. The functions have the names of a formula's text.

A number combines with everything, a number for each example with vectors; classes do not combine with features.
"""
from .context import fail, unknown
from .grammar import OVER_BATCH, ROW_FUNCTIONS

ROW, CLASSES, FEATURES = "row", "classes", "features"
CLASS_TABLE, FEATURE_TABLE = "class_table", "feature_table"  # memories by class; rows of logits, of features
ROWS = {CLASS_TABLE: CLASSES, FEATURE_TABLE: FEATURES}
OF_MEMORIES = {"features": FEATURE_TABLE, "logits": CLASS_TABLE, "classes": CLASSES}
SUMMANDS = {"features": FEATURES, "logits": CLASSES, "classes": ROW, "number": ROW}  # what @fh.measure gives for them
SPOKEN = {ROW: "a number for each example", CLASSES: "a number for each class", FEATURES: "a vector of features",
          CLASS_TABLE: "a table of logits by class", FEATURE_TABLE: "a table of features by class"}
LABEL = "y"
NAMES = {"logits": CLASSES, "z": FEATURES, "counts": CLASSES, LABEL: ROW}
OF_VECTOR = {"sum", "mean", "norm", "dot", "cos", "max", "min", "logsumexp", "softmax", "log_softmax", "cross_entropy", "kl", "pick", "batch_square"}


def is_row_kind(is_vector):
    """Says whether a value's shape is of an example."""
    return isinstance(is_vector, str)


def shape(operation, arguments):
    """Returns the shape of an operation's value. Raises MethodError if its arguments do not fit."""
    spoken = f"fh.{operation} of {', '.join(a.spoken() for a in arguments)}"
    for a in arguments:
        if a.per_client or a.is_vector is True:
            fail(f"{a.spoken()} in the loss of an example; allowed: out, y, counts, keys and numbers. "
                 "@fh.loss(also_at={\"sent\": \"w_t\"}) names what a model at another vector answers.")
    kinds = [a.is_vector for a in arguments]
    if any(kind in ROWS for kind in kinds):
        return _of_table(operation, arguments, kinds, spoken)
    if operation == "one_hot" or operation in ("pick", "cross_entropy"):
        label = arguments[-1]
        if label.operation != "name" or label.value != LABEL or (operation != "one_hot" and kinds[0] != CLASSES):
            fail(f"{spoken}: it takes {'' if operation == 'one_hot' else 'a number for each class, such as out.logits, and '}the label y")
        return CLASSES if operation == "one_hot" else ROW
    if operation == "batch_mean":
        return kinds[0]
    if operation in OF_VECTOR:
        for a in arguments:
            if a.is_vector not in (CLASSES, FEATURES):
                fail(f"{spoken}: it takes a vector, out.logits or out.z")
        if len(set(kinds)) > 1:
            fail(f"{spoken}: its vectors must be of the same kind")
        return kinds[0] if operation in ("softmax", "log_softmax") else ROW
    if CLASSES in kinds and FEATURES in kinds:
        fail(f"{operation} of {', '.join(a.spoken() for a in arguments)}: their shapes differ; fh.sum, fh.mean or fh.dot make one number of a vector")
    if operation == "%":
        fail("% takes numbers, not an example's values")
    if operation == "^" and kinds[1]:
        fail(f"the exponent of a power is {arguments[1].spoken()}; it must be a number. fh.exp takes vectors.")
    return CLASSES if CLASSES in kinds else FEATURES if FEATURES in kinds else ROW if ROW in kinds else False


def _of_table(operation, arguments, kinds, spoken):
    """Returns the shape of an operation on a table by class."""
    if operation == "pick" and arguments[1].operation == "name" and arguments[1].value == LABEL:
        return ROWS[kinds[0]]
    if operation in ("dot", "cos") and kinds[0] in (CLASSES, FEATURES) and ROWS.get(kinds[1]) == kinds[0] or operation == "norm":
        return CLASSES
    spoken = spoken if operation.isidentifier() else spoken.removeprefix("fh.")
    return fail(f"{spoken}: of a table P by class, allowed: P[y], the label's row, and for all rows fh.dot(out.z, P), fh.cos(out.z, P) and fh.norm(P); "
                "out.logits goes with a table of logits")


def refuse_batch(value, at, line):
    """Raises MethodError where a value needs other examples of the batch."""
    if value.operation in OVER_BATCH:
        fail(f"fh.{value.operation} in {at}: it goes over the examples of a batch; allowed in @fh.loss", value.line or line)
    for argument in value.arguments:
        refuse_batch(argument, at, line)


class Answers:
    """A model's results for an example: the argument out, and those that also_at names."""

    def __init__(self, name, values):
        """values: {"logits" or "z": value}."""
        self._name, self._values = name, values

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._values:
            fail(unknown(f"{self._name}'s", name, list(self._values)))
        return self._values[name]

    def __repr__(self):
        return f"the answers {self._name}"


def refuse_elsewhere(operation, arguments):
    """Raises MethodError for a function of examples on other values."""
    if operation in ROW_FUNCTIONS and any(a.is_vector or a.per_client for a in arguments) or operation in ROW_FUNCTIONS - {"log_sigmoid"}:
        fail(f"fh.{operation} of {', '.join(a.spoken() for a in arguments)}: it takes out.logits or out.z; allowed in @fh.loss")
