"""The functions of a cohort's updates [K, P] on NumPy's arrays, by their names in Python. Numbers of the clients are [K], or one for all."""
import numpy as np


def _nearest(updates, count, among):
    squared = ((updates[:, None] - updates[None]) ** 2).sum(-1)
    squared[np.eye(len(updates)) + (_each(among, updates) == 0) > 0] = np.inf
    nearest = np.sort(squared, axis=1)[:, :max(0, int(count))]
    return np.where(np.isfinite(nearest), nearest, 0).sum(1)


def _each(numbers, updates):
    return numbers * np.ones(len(updates))


def _cosines(updates):
    lengths = np.linalg.norm(updates, axis=1)
    unit = updates / np.where(lengths > 0, lengths, 1)[:, None]
    return unit @ unit.T


def _bipartition(updates, among):
    """Joins the parts with the largest cosine between members until two are left."""
    cosines, parts = _cosines(updates), [[k] for k in np.flatnonzero(_each(among, updates))]
    while len(parts) > 2:
        _, i, j = max((cosines[np.ix_(a, b)].max(), -i, -j) for i, a in enumerate(parts) for j, b in enumerate(parts) if i < j)
        parts[-i] += parts.pop(-j)
    away = [] if len(parts) < 2 else next(part for part in parts if min(min(p) for p in parts) not in part)
    return np.isin(np.arange(len(updates)), away) * 1.0


def _leading(updates, among):
    members, result = np.flatnonzero(_each(among, updates)), np.zeros(len(updates))
    if not len(members):
        return result
    apart = updates[members] - updates[members].mean(0)
    if np.any(apart):
        along = np.linalg.svd(apart, full_matrices=False)[0][:, 0]
        result[members] = along * np.sign(along[np.argmax((apart ** 2).sum(1))])
    return result


def _closest(updates, scale):
    scale = _each(scale, updates)
    larger = scale[None] > scale[:, None]
    share = np.where(larger, scale[:, None] / np.where(larger, scale[None], 1), 1)
    return np.maximum(0, (_cosines(updates) * share * (1 - np.eye(len(updates)))).max(1))


def _shortest(updates, shares, spread):
    """Steps down the gradient, back each time to weights between the bounds with the shares' sum, which bisection of a shift finds."""
    gram, shares = _cosines(updates), _each(shares, updates)
    low, high, weights = np.maximum(0, shares - spread), np.minimum(1, shares + spread), shares
    for _ in range(5000):
        ahead = weights - gram @ weights / np.linalg.norm(gram, 2)
        down, up = ahead.min() - 2, ahead.max() + 2
        for _ in range(60):
            middle = (down + up) / 2
            down, up = (middle, up) if np.clip(ahead - middle, low, high).sum() > shares.sum() else (down, middle)
        moved, weights = weights, np.clip(ahead - down, low, high)
        if np.abs(weights - moved).max() < 1e-15:
            break
    return weights


def _without_conflicts(updates, order, projected):
    weights = np.eye(len(updates))  # of g_k, row by row
    for k in np.flatnonzero(_each(projected, updates)):
        for j in np.argsort(_each(order, updates), kind="stable"):
            along = updates[j] @ (weights[k] @ updates)
            if j != k and along < 0:
                weights[k, j] -= along / (updates[j] @ updates[j])
    return weights.sum(0)


OF_UPDATES = {"nearest": _nearest, "bipartition": _bipartition, "leading": _leading, "closest": _closest, "shortest": _shortest,
              "without_conflicts": _without_conflicts}
