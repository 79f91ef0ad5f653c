"""Final test accuracy, or what else runs are compared by, against the one key that a sweep varies: every seed, their mean, its interval."""
import numpy as np

from report.figures import Drawing, style
from report.figures.groups import groups_of, interval_within, mean_interval, metric_of_groups, number_of, numeric, plural, sorted_values

MOST_WORDS = 30  # values that are no numbers, one under the other


def panel(axes, groups, place_of, upright):
    """Draws the seeds, means and intervals of the groups at their places; upright: along x. Returns n of each mean, and what has none."""
    places, means, halves, counts, lost = [], [], [], [], []
    for group in groups:
        final = group.final()
        if not len(final):
            lost.append(place_of(group))
            continue
        mean, half = mean_interval(final)
        places, means, halves, counts = [*places, place_of(group)], [*means, mean], [*halves, half], [*counts, len(final)]
        seeds = ([places[-1]] * len(final), final)
        axes.plot(*(seeds if upright else seeds[::-1]), linestyle="", marker="o", markersize=3, color=style.MUTED, alpha=0.7,
                  markeredgewidth=0, gid=f"seeds {group.label}")
    order = np.argsort(places)
    places, means, halves = (np.array(values, dtype=float)[order] for values in (places, means, halves))
    low, high = interval_within(metric_of_groups(groups).column, means, np.nan_to_num(halves))
    bars = {"yerr" if upright else "xerr": [means - low, high - means]}
    axes.errorbar(*((places, means) if upright else (means, places)), **bars, color=style.PALETTE[0], marker="o", markersize=4, capsize=2.5,
                  linewidth=1.1, linestyle="-" if upright else "", gid="means")
    if lost:
        at = (lost, [0.03] * len(lost))
        axes.plot(*(at if upright else at[::-1]), transform=axes.get_xaxis_transform() if upright else axes.get_yaxis_transform(),
                  linestyle="", marker="x", markersize=5, color=style.FAILURE, gid="failed", clip_on=False)
    return counts, lost


def draw(report):
    if len(report.axes) != 1:
        return
    key = report.axes[0]
    name, said = report.names()[key], report.names(report.shown)[key]
    groups = groups_of(report)
    texts = sorted_values(group.settings().get(key, "") for group in groups)
    numbers = numeric(texts)
    if len(texts) < 2 or not any(len(group.final()) for group in groups) or (not numbers and len(texts) > MOST_WORDS):
        return
    metric = metric_of_groups(groups)
    ticks = [style.broken(report.drawn(text or "–")) for text in reversed(texts)]
    figure = style.new_figure(style.NARROW, 2.5 if numbers else 1.0 + sum(0.11 + 0.13 * (tick.count("\n") + 1) for tick in ticks))
    axes = figure.subplots()
    if numbers:
        counts, lost = panel(axes, groups, lambda group: number_of(group.settings()[key]), True)
        style.number_axis(axes, "x", [number_of(text) for text in texts])
        axes.set_xlabel(name)
        axes.set_ylabel(f"final test {metric.title}")
    else:
        counts, lost = panel(axes, groups, lambda group: len(texts) - 1 - texts.index(group.settings().get(key, "")), False)
        axes.set_yticks(range(len(texts)), ticks)
        axes.set_ylabel(name)
        axes.set_xlabel(f"final test {metric.title}")
        axes.margins(y=0.1)
    n = f"{min(counts)} to {max(counts)}" if min(counts) != max(counts) else f"{counts[0]}"
    caption = f"Test {metric.title} after the last round against {said}; n = {n} finished {'runs' if max(counts) > 1 else 'run'} a value. "
    caption += "Blue: mean with 95 % interval (Student's t); grey: each seed. " if max(counts) > 1 else ""
    caption += f"Red ×: {plural(len(lost), 'value')} without a finished run. " if lost else ""
    yield Drawing("one_axis", f"Final {metric.title} against {said}", caption + f"The axis of the {metric.title} need not begin at 0.", figure)
