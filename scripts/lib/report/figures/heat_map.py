"""Final and best test accuracy over two of a sweep's keys: cells of a grid, or points where a random search left most cells empty."""
import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from report.figures import Drawing, style
from report.figures.groups import best_value, final_value, finite, groups_of, metric_of_groups, number_of, numeric, sorted_values

MOST_CELLS = 40  # along one side
FEWEST = 4       # cells with runs; fewer are a table, not a map


def explained(groups, values, key):
    """Share of the variance of `values` (one a group) that lies between the values of one key."""
    known = np.isfinite(values)
    total = ((values[known] - values[known].mean()) ** 2).sum() if known.any() else 0.0
    if total == 0:
        return 0.0
    between = 0.0
    texts = np.array([group.settings().get(key, "") for group in groups], dtype=object)
    for text in set(texts[known]):
        part = values[known & (texts == text)]
        between += len(part) * (part.mean() - values[known].mean()) ** 2
    return between / total


def two_keys(groups, values, keys):
    """Those two that explain most, in the order of the sweep; first the one for the columns, which are no words where the rows can be."""
    keys = [key for key in keys if len({group.settings().get(key, "") for group in groups}) > 1]
    if len(keys) < 2:
        return None
    most = sorted(keys, key=lambda key: -explained(groups, values, key))[:2]
    found = [key for key in keys if key in most]
    words = [not numeric({group.settings().get(key, "") for group in groups} - {""}) for key in found]
    return found[::-1] if words == [True, False] else found


def cell(groups, column, row, keys):
    return [index for index, group in enumerate(groups) if (group.settings().get(keys[0], ""), group.settings().get(keys[1], "")) == (column, row)]


def shown(text):
    return text if text else "–"


def grid(groups, values, keys, report):
    columns = sorted_values(group.settings().get(keys[0], "") for group in groups)
    rows = sorted_values(group.settings().get(keys[1], "") for group in groups)
    if len(columns) > MOST_CELLS or len(rows) > MOST_CELLS:
        return None
    width = style.NARROW if len(columns) <= 6 else style.WIDE
    side = min(0.42, (width - 1.1) / len(columns))
    figure = style.new_figure(width, 1.15 + max(0.26 if len(rows) <= 20 else 0.16, side * 0.8) * len(rows))
    axes = figure.subplots()
    means, empty = np.full((len(rows), len(columns)), np.nan), []
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            members = cell(groups, column, row, keys)
            known = finite(values[members])
            if len(known):
                means[i, j] = known.mean()
            elif members:
                empty.append((j, i))
    mesh = axes.pcolormesh(np.arange(len(columns) + 1) - 0.5, np.arange(len(rows) + 1) - 0.5, np.ma.masked_invalid(means),
                           cmap=style.SEQUENTIAL, edgecolors=style.PAPER, linewidth=0.8, gid="cells")
    for j, i in empty:
        axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, hatch="////", edgecolor=style.MUTED, linewidth=0, gid="failed"))
    inches = (width - 1.1) / len(columns)
    if inches >= 0.2 and len(rows) <= 20:
        digits = 3 if inches >= 0.34 else 2
        for i, j in zip(*np.nonzero(np.isfinite(means))):
            red, green, blue, _ = style.SEQUENTIAL(mesh.norm(means[i, j]))
            bright = 0.299 * red + 0.587 * green + 0.114 * blue > 0.55
            axes.text(j, i, f"{means[i, j]:.{digits}f}", ha="center", va="center", fontsize=7 if inches >= 0.3 else 6,
                      color="#010101" if bright else "#fefefe")
    axes.set_xticks(range(len(columns)), [style.broken(report.drawn(shown(text))) for text in columns], rotation=0 if max(map(len, columns)) * 0.06 <= inches else 45,
                    ha="center" if max(map(len, columns)) * 0.06 <= inches else "right", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), [style.broken(report.drawn(shown(text))) for text in rows])
    finish(figure, axes, mesh, keys, report.names(), metric_of_groups(groups))
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0)
    return figure, bool(empty)


def cloud(groups, values, keys, report):
    """A point a group, coloured by its value; a × where no run finished."""
    x, y = (np.array([number_of(group.settings().get(key)) for group in groups], dtype=float) for key in keys)
    figure = style.new_figure(style.NARROW, 3.0)
    axes = figure.subplots()
    known = np.isfinite(values)
    dots = axes.scatter(x[known], y[known], c=values[known], cmap=style.SEQUENTIAL, s=26, edgecolors=style.PAPER, linewidths=0.4, gid="cells")
    if (~known).any():
        axes.scatter(x[~known], y[~known], marker="x", c=style.MUTED, s=18, linewidths=0.9, gid="failed")
    style.number_axis(axes, "x", x)
    style.number_axis(axes, "y", y)
    finish(figure, axes, dots, keys, report.names(), metric_of_groups(groups))
    return figure, bool((~known).any())


def finish(figure, axes, colours, keys, names, metric):
    axes.set_xlabel(names[keys[0]])
    axes.set_ylabel(names[keys[1]])
    bar = figure.colorbar(colours, ax=axes, location="bottom", label=f"test {metric.title}", aspect=30, pad=0.03, fraction=0.06)
    bar.outline.set_visible(False)
    bar.ax.grid(False)
    bar.ax.xaxis.set_major_locator(MaxNLocator(5))


def draw(report):
    groups, said = groups_of(report), report.names(report.shown)
    metric = metric_of_groups(groups)
    before = None
    for name, words, of in (("final", "Final", final_value), ("best", "Best", best_value)):
        by_group = [finite([of(run) for run in group.finished()]) for group in groups]
        values = np.array([known.mean() if len(known) else np.nan for known in by_group])
        keys = two_keys(groups, values, report.axes)
        if keys is None or not np.isfinite(values).any() or (before is not None and np.allclose(before, values, atol=0.001, equal_nan=True)):
            continue
        before = values
        places = {(group.settings().get(keys[0], ""), group.settings().get(keys[1], "")) for group in groups}
        if len(places) < FEWEST:
            continue
        sides = [{place[side] for place in places} for side in (0, 1)]
        sparse = len(places) * 2 < len(sides[0]) * len(sides[1]) and all(map(numeric, sides))
        made = (cloud if sparse else grid)(groups, values, keys, report)
        if made is None:
            continue
        figure, failed = made
        n = sorted({len(known) for known in by_group if len(known)})
        others = [said[key] for key in report.axes if key not in keys and len({group.settings().get(key, "") for group in groups}) > 1]
        caption = f"{words} test {metric.title} ({'of the last evaluated round' if name == 'final' else f'the {metric.best_word} of any round, which favours noise'}) "
        caption += f"over {said[keys[0]]} and {said[keys[1]]}, mean over {f'{n[0]} to {n[-1]}' if len(n) > 1 else n[0]} finished "
        caption += f"run{'s' if n[-1] > 1 else ''} that differ{'' if n[-1] > 1 else 's'} in the seed only. " if n[-1] > 1 else "run each. "
        if others and not sparse:
            caption += f"These two explain most of its variance; cells are averages over {', '.join(others)}. "
        elif others:
            caption += f"These two explain most of its variance; {', '.join(others)} differ{'s' if len(others) == 1 else ''} from point to point. "
        if failed:
            caption += "Marked ×: no run finished. " if sparse else "Hatched: runs, but none that finished. "
        yield Drawing(f"heat_map_{name}", f"{words} {metric.title} over {said[keys[0]]} and {said[keys[1]]}", caption.strip(), figure)
