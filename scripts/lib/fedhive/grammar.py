"""The grammar of a formula's text, and the Python functions (fh.…) for its operations.

    expr    := sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
    sum     := product {("+" | "-") product};  product := sign {("*" | "/" | "%") sign};  sign := "-" sign | power;  power := atom ["^" sign]
    atom    := number | name | function "(" expr {"," expr} ")" | "(" expr ")"

A line is "name = expr" or "let name = expr". Except for lets, every name on the right is its value before all lines. A cohort's lines may
contain "repeat expr", then lines "let name = expr" and "name = expr", then "end". The latter set names that a let has given; on the right
these are their values before the turn.
"""
import math
import re

MOST_DEEP = 64      # operations of one line, one in the other
MOST_BYTES = 4096   # of all formulas of a file
MOST_LETTERS = 16   # of a declared name
MOST_SUMS = 8       # over the cohort, by different weights
FURTHER = tuple(f"by_{i}" for i in range(2, MOST_SUMS + 1))  # the weights after the first
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

ELEMENTWISE = {"sqrt": 1, "abs": 1, "sign": 1, "exp": 1, "log": 1, "tanh": 1, "sigmoid": 1, "relu": 1, "floor": 1,
               "minimum": 2, "maximum": 2, "where": 3}
OF_VECTORS = {"sum": 1, "mean": 1, "norm": 1, "dot": 2, "cos": 2, "threshold": 2}            # vectors to one number; a threshold also takes a share
OVER_COHORT = {"sum_k": 1, "mean_k": 1, "max_k": 1, "min_k": 1, "median_k": 1}               # the cohort's numbers to one number
IN_COHORT = {"softmax_k": 1, "sort_k": 1, "rank_k": 1, "simplex_k": 1}                       # the cohort's numbers to as many numbers
OF_PRODUCTS = {"dot_k": 1, "cos_k": 1, "distance_k": 1, "nearest_k": 2, "bipartition_k": 1, "leading_k": 1, "closest_k": 1, "shortest_k": 2,
               "without_conflicts_k": 2}                                                     # products.py; to one number for each client
LAST_IS_ONE = frozenset({"nearest_k"})                                                       # a text may leave out their last argument, which is 1 then
OVER_BATCH = {"batch_mean": 1, "batch_square": 1}                                            # over the examples of a batch
OF_EXAMPLES = {**OVER_BATCH, "cross_entropy": 2, "kl": 2, "log_sigmoid": 1, "log_softmax": 1, "logsumexp": 1, "max": 1, "min": 1, "one_hot": 1, "pick": 2,
               "softmax": 1}                                                                 # in a loss alone
ROW_FUNCTIONS = frozenset(OF_EXAMPLES) - {"max", "min", "softmax"}                           # of these, what no other formula has in Python
FUNCTIONS = {**ELEMENTWISE, **OF_VECTORS, **OVER_COHORT, **IN_COHORT, **OF_PRODUCTS}         # names in a formula's text: how many arguments
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
OPERATORS = ("+", "-", "*", "/", "%", "^", *COMPARISONS)
TEXT_FUNCTIONS = {**OF_EXAMPLES, **FUNCTIONS}
PYTHON_FUNCTIONS = sorted({name[:-2] if name.endswith("_k") else name for name in FUNCTIONS} - {"distance"} | {"clip"})
ALLOWED = f"Allowed are + - * / % **, comparisons, and fh.{', fh.'.join(PYTHON_FUNCTIONS)}."
RESERVED = frozenset(TEXT_FUNCTIONS) | frozenset(PYTHON_FUNCTIONS) | {"let", "repeat"}                      # no name may be one of these


def is_finite_number(value):
    """Says whether it is a finite int or float of Python; True and False are none."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False
