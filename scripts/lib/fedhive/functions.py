"""The functions of formulas: fh.sqrt, fh.sum, … Their arguments are those of a method file's functions: numbers, vectors, values of the cohort, and,
in @fh.loss, logits and features of an example."""
from .context import current


def sqrt(x):
    """Returns the square root of each element."""
    return current().call("sqrt", x)


def abs(x):
    """Returns the absolute value of each element."""
    return current().call("abs", x)


def sign(x):
    """Returns -1, 0 or 1 for each element."""
    return current().call("sign", x)


def exp(x):
    """Returns e to the power of each element."""
    return current().call("exp", x)


def log(x):
    """Returns the natural logarithm of each element."""
    return current().call("log", x)


def tanh(x):
    """Returns the hyperbolic tangent of each element."""
    return current().call("tanh", x)


def sigmoid(x):
    """Returns 1 / (1 + e^-x) of each element."""
    return current().call("sigmoid", x)


def relu(x):
    """Returns each element, or 0 if it is negative."""
    return current().call("relu", x)


def floor(x):
    """Returns the largest whole number that is not above each element."""
    return current().call("floor", x)


def minimum(a, b):
    """Returns the smaller of two values, element by element."""
    return current().call("minimum", a, b)


def maximum(a, b):
    """Returns the larger of two values, element by element."""
    return current().call("maximum", a, b)


def where(condition, then, otherwise):
    """Returns `then` where the condition is not 0, `otherwise` elsewhere, element by element."""
    return current().call("where", condition, then, otherwise)


def clip(x, least, most):
    """Returns each element, moved into [least, most]."""
    return minimum(maximum(x, least), most)


def norm(x):
    """Returns the Euclidean norm of a vector. Of k.u, or of k.u less a sum over the cohort: one number for each client. Of a table by class,
    in a loss: one number for each row."""
    return current().call("norm", x)


def dot(a, b):
    """Returns the inner product of two vectors. Of k.u and a sum over the cohort: one number for each client. Of an example's vector and a
    table by class: one number for each class."""
    return current().call("dot", a, b)


def threshold(x, share):
    """Returns the magnitude that `share` of a vector's elements reach; at least one element reaches it."""
    return current().call("threshold", x, share)


def cos(a, b):
    """Returns the cosine of the angle between two vectors. Of k.u and a sum over the cohort: one number for each client. Of an example's
    vector and a table by class: one number for each class."""
    return current().call("cos", a, b)


def sum(x):
    """Returns the sum over the cohort of one value a client, else over the elements of a vector."""
    return current().call("sum", x)


def mean(x):
    """Returns the mean over the cohort of one value a client, else over the elements of a vector."""
    return current().call("mean", x)


def max(x):
    """Returns the largest of the cohort's numbers, or of an example's vector."""
    return current().call("max", x)


def min(x):
    """Returns the smallest of the cohort's numbers, or of an example's vector."""
    return current().call("min", x)


def median(x):
    """Returns the median of the cohort's numbers."""
    return current().call("median", x)


def softmax(x):
    """Returns e^x / sum of e^x: one number a client, or one for each element of an example's vector."""
    return current().call("softmax", x)


def sort(x):
    """Returns the cohort's numbers in ascending order."""
    return current().call("sort", x)


def rank(x):
    """Returns each client's rank in the ascending order of the cohort's numbers, from 0."""
    return current().call("rank", x)


def simplex(x):
    """Returns the projection of the cohort's numbers onto the simplex: numbers >= 0 with sum 1."""
    return current().call("simplex", x)


def repeat(count, step, *first):
    """Returns what `step` makes of the numbers `first`, `count` times in turn: each time it gets as many numbers, of the cohort's clients or one for all, and
    returns their next values. In @fh.cohort, @fh.weight, @fh.server and @fh.mix; count may be a key: fh.repeat(R, step, k.n)."""
    return current().repeat(count, step, first)


def nearest(x, m, among=1):
    """Returns for each client the sum of |u_k - u_j|^2 over the m other updates with `among` != 0 that are nearest to its own: fh.nearest(k.u, m)."""
    return current().call("nearest", x, m, among)


def bipartition(x, among):
    """Splits the updates with `among` != 0 into two parts and minimises the largest cosine between the parts: fh.bipartition(k.u, among).

    Returns 0 for the part with the first of these updates and for updates with `among` = 0, and 1 for the other part.
    """
    return current().call("bipartition", x, among)


def leading(x, among=1):
    """Returns each update's part along the direction in which the updates with `among` != 0 differ most, from their mean: fh.leading(k.u). The numbers
    are scaled to the Euclidean norm 1; the one of the update farthest from the mean is positive, those of updates with `among` = 0 are 0."""
    return current().call("leading", x, among)


def closest(x, scale=1):
    """Returns for each client the largest cosine of its update and another one, at least 0: fh.closest(k.u). The cosine with an update of larger
    `scale` counts scale_k / scale_j."""
    return current().call("closest", x, scale)


def shortest(x, shares, spread):
    """Returns the weights of the shortest sum of updates, each divided by its norm: fh.shortest(k.u, k.n / fh.sum(k.n), 0.1). The weights are >= 0, sum
    to the sum of `shares`, and differ from their shares by at most `spread`."""
    return current().call("shortest", x, shares, spread)


def without_conflicts(x, order, projected=1):
    """Returns the weights of the sum over clients of g_k, the update without the parts that point against others: fh.without_conflicts(k.u, k.loss).

    g_k begins as u_k; by ascending `order` of the others, it loses <g_k, u_j> / |u_j|^2 * u_j if this product is negative. With `projected` = 0 it stays u_k.
    """
    return current().call("without_conflicts", x, order, projected)


def log_softmax(x):
    """Returns the logarithm of softmax(x), of an example's vector."""
    return current().call("log_softmax", x)


def logsumexp(x):
    """Returns the logarithm of the sum of e^x, of an example's vector."""
    return current().call("logsumexp", x)


def log_sigmoid(x):
    """Returns the logarithm of sigmoid(x), of each element."""
    return current().call("log_sigmoid", x)


def pick(x, y):
    """Returns the label's element of a number for each class, or its row of a table by class: x[y]."""
    return current().call("pick", x, y)


def one_hot(y):
    """Returns 1 for the label's class, 0 for the others."""
    return current().call("one_hot", y)


def cross_entropy(logits, y):
    """Returns -pick(log_softmax(logits), y)."""
    return current().call("cross_entropy", logits, y)


def kl(log_p, log_q):
    """Returns the sum of e^log_p * (log_p - log_q): Kullback and Leibler's divergence of distributions that log_softmax gives."""
    return current().call("kl", log_p, log_q)


def batch_mean(x):
    """Returns the mean over the examples of the batch, of a value of each example: a number for each example, of logits' shape or of features'."""
    return current().call("batch_mean", x)


def batch_square(x):
    """Returns for each example r the mean over the batch's examples s of (mean of x_r * x_s)^2. Its batch_mean is the sum of the squares of the
    matrix 1/n X^T X by d^2: of the batch's correlations where the columns have mean 0 and variance 1."""
    return current().call("batch_square", x)
