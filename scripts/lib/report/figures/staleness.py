"""How old the updates of asynchronous runs were when they arrived."""
import numpy as np
from matplotlib.patches import Patch

from report.figures import Drawing, style
from report.figures.groups import a_few, column, failures_of, finite, groups_of, wrapped

MOST_BARS = 30  # values of staleness; more are taken together


def arrivals(run):
    """Staleness of each accepted update."""
    return finite(column(run.clients, "staleness")[(failures_of(run.clients) == "").to_numpy(dtype=bool)])


def draw(report):
    by_group = {group.label: np.concatenate([arrivals(run) for run in group.runs]) for group in groups_of(report)}
    groups, left_out = a_few([group for group in groups_of(report) if by_group[group.label].max(initial=0) > 0])
    if not groups:
        return
    highest = max(by_group[group.label].max() for group in groups)
    step = int(np.ceil((highest + 1) / MOST_BARS))
    edges = np.arange(0, highest + 1 + step, step)
    figure = style.new_figure(style.NARROW, 2.3 + 0.13 * len(groups))
    axes = figure.subplots()
    width = 0.86 * step / len(groups)
    for index, group in enumerate(groups):
        share = np.histogram(by_group[group.label], edges)[0] / len(by_group[group.label])
        left = edges[:-1] - 0.5 + 0.07 * step + index * width
        axes.bar(left, share, width=width, align="edge", color=style.colour_of(index), gid=f"staleness {group.label}")
    axes.set_xlabel("staleness (server steps)" + (f", {step} values a bar" if step > 1 else ""))
    axes.set_ylabel("share of the updates")
    axes.set_ylim(bottom=0)
    axes.grid(axis="x", visible=False)
    style.whole_numbers(axes.xaxis)
    style.legend_below(figure, [Patch(color=style.colour_of(index), label=wrapped(group.drawn, f"n = {len(by_group[group.label])}"))
                                for index, group in enumerate(groups)])
    yield Drawing("staleness", "Staleness of the updates", "Share of the accepted updates that were as many server steps old at their arrival; "
                  "n counts updates, over all runs of a group. Runs without stale updates are left out." + left_out, figure)
