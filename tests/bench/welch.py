"""The difference of two means over seeds with its interval, by Welch's method, which does not assume equal variances."""
import math
import statistics


def student_t(probability, freedom):
    """Quantile of Student's t, by bisection of its distribution function (Simpson's rule on the density)."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)

    def below(t, parts=2000):
        points = [scale * (1 + (t * i / parts) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(parts + 1)]
        return 0.5 + t / parts / 3 * sum(point * (1 if i in (0, parts) else 4 if i % 2 else 2) for i, point in enumerate(points))

    low, high = 0.0, 100.0
    for _ in range(60):
        low, high = ((low + high) / 2, high) if below((low + high) / 2) < probability else (low, (low + high) / 2)
    return (low + high) / 2


def difference(ours, theirs):
    """(difference of the means, lower and upper end of its 90 % interval)."""
    parts = [statistics.variance(side) / len(side) for side in (ours, theirs)]
    freedom = sum(parts) ** 2 / sum(part ** 2 / (len(side) - 1) for part, side in zip(parts, (ours, theirs)))
    mean, half = statistics.fmean(ours) - statistics.fmean(theirs), student_t(0.95, freedom) * math.sqrt(sum(parts))
    return mean, mean - half, mean + half
