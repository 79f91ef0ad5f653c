"""Who holds what: examples of each client by label; for many clients shares by label, and how large the shards are."""
import numpy as np
from matplotlib.patches import Patch

from report.figures import Drawing, style
from report.figures.groups import column, groups_of, plural

MOST_BARS = 40       # clients
MOST_FIGURES = 3
MOST_LETTERS = 24    # of an owner's name
MOST_STRIPES = 500   # columns of the picture; more clients share a column


def label_counts(table):
    names = [name for name in table.columns if str(name).startswith("label_")]
    return np.array([np.nan_to_num(column(table, name)) for name in names]).reshape(len(names), len(table)), [name[6:] for name in names]


def owners_of(table):
    """The clients' names; none where the data name nobody."""
    return [str(name) for name in table["owner"]] if "owner" in table.columns else []


def distinct(report):
    """[(partition, runs that have it)], by the first run of each group: seeds may draw another one each."""
    found = {}
    for group in groups_of(report):
        for run in group.runs:
            table = run.partition
            table = table[np.isfinite(column(table, "client_id")) & np.isfinite(column(table, "num_examples"))]
            if len(table):
                numbers = table.drop(columns="owner", errors="ignore").to_numpy(dtype=float)
                key = (tuple(table.columns), np.nan_to_num(numbers).tobytes(), tuple(owners_of(table)))
                found.setdefault(key, (table, []))[1].append(run)
                break
    return list(found.values())


def bars(table, counts, labels):
    """A bar a client, the largest first, stacked by label."""
    order = np.argsort(-column(table, "num_examples"), kind="stable")
    coloured = 2 <= len(labels) <= len(style.LABELS)
    figure = style.new_figure(style.NARROW if len(table) <= 20 else style.WIDE, 2.4 + (0.3 if coloured else 0))
    axes = figure.subplots()
    place, base = np.arange(len(table)), np.zeros(len(table))
    for index, values in enumerate(counts if coloured else [column(table, "num_examples")]):
        axes.bar(place, values[order], bottom=base, width=0.86, color=style.LABELS[index] if coloured else style.PALETTE[0],
                 edgecolor=style.PAPER, linewidth=0.3)
        base += values[order]
    owners = owners_of(table)
    if owners:
        axes.set_xticks(place, [owners[client] if len(owners[client]) <= MOST_LETTERS else owners[client][:MOST_LETTERS - 1] + "…" for client in order],
                        rotation=90, fontsize=6, parse_math=False)
    else:
        every = max(1, -(-len(table) // (14 if len(table) <= 20 else 40)))
        axes.set_xticks(place[::every], [f"{int(client)}" for client in column(table, "client_id")[order][::every]])
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("owner, largest first" if owners else "client_id, largest first")
    axes.set_ylabel("examples")
    axes.set_ylim(bottom=0)
    style.plain_numbers(axes.yaxis)
    if coloured:
        style.legend_below(figure, [Patch(color=style.LABELS[index], label=label) for index, label in enumerate(labels)], "label")
    return figure, "Training examples of each client, stacked by label" if coloured else "Training examples of each client"


def picture(table, counts, labels):
    """Share of each label, clients as columns in the order of their most frequent label; below, how many clients have how many examples."""
    sizes = column(table, "num_examples")
    with_labels = len(labels) >= 2
    figure = style.new_figure(style.NARROW, 4.0 if with_labels else 2.2)
    panels = figure.subplots(2, 1, height_ratios=(1.5, 1)) if with_labels else [figure.subplots()]
    if with_labels:
        share = counts / np.maximum(counts.sum(axis=0), 1)
        top = share.argmax(axis=0)
        share = share[:, np.lexsort((-share.max(axis=0), top))]
        if share.shape[1] > MOST_STRIPES:
            share = np.array([part.mean(axis=1) for part in np.array_split(share, MOST_STRIPES, axis=1)]).T
        image = panels[0].imshow(share, aspect="auto", cmap=style.FROM_NOTHING, interpolation="nearest", vmin=0, vmax=max(share.max(), 1e-9),
                                 extent=(0, len(table), len(labels) - 0.5, -0.5), gid="shares")
        every = max(1, len(labels) // 10)
        panels[0].set_yticks(range(0, len(labels), every), labels[::every])
        panels[0].set_ylabel("label")
        panels[0].set_xlabel("clients, by their most frequent label")
        panels[0].grid(False)
        bar = figure.colorbar(image, ax=panels[0], location="top", label="share of the client's examples", aspect=30, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.grid(False)
    width = max(1, int(np.ceil((sizes.max() - sizes.min() + 1) / 30)))  # whole: no bar holds one size more
    edges = np.arange(sizes.min(), sizes.max() + width + 1, width) - 0.5
    panels[-1].hist(sizes, bins=edges, color=style.PALETTE[0], edgecolor=style.PAPER, linewidth=0.3)
    panels[-1].set_xlabel("examples of a client")
    panels[-1].set_ylabel("clients")
    style.plain_numbers(panels[-1].xaxis)
    style.whole_numbers(panels[-1].yaxis)
    text = "How many clients hold how many training examples"
    if with_labels:
        text = "Share of each label among a client's training examples, and " + text[0].lower() + text[1:]
        text += f"; each column is the mean of {len(table) / MOST_STRIPES:.1f} clients" if len(table) > MOST_STRIPES else ""
    return figure, text


def figure_of(table):
    """The picture of a partition.csv, and what it shows."""
    return (bars if len(table) <= MOST_BARS else picture)(table, *label_counts(table))


def draw(report):
    partitions = distinct(report)
    for number, (table, runs) in enumerate(partitions[:MOST_FIGURES], 1):
        clients = runs[0].manifest.get("num_clients") or len(table)
        figure, text = figure_of(table)
        sizes = column(table, "num_examples")
        caption = f"{text}. {plural(len(table), 'client')}, {sizes.min():.0f} to {sizes.max():.0f} examples (median {np.median(sizes):.0f})"
        caption += f"; the other {clients - len(table)} clients are not in partition.csv. " if clients > len(table) else ". "
        if len(partitions) > 1:
            caption += f"Partition of {runs[0].label}" + (f" and {plural(len(runs) - 1, 'other group')}" if len(runs) > 1 else "")
            caption += f"; {number} of {len(partitions)} that differ"
            caption += f", of which {MOST_FIGURES} are shown. " if len(partitions) > MOST_FIGURES else ". "
        name = "partition" if len(partitions) == 1 else f"partition_{number}"
        title = "Examples of each client" + (f": {runs[0].label}" if len(partitions) > 1 else "")
        yield Drawing(name, title, caption.strip(), figure)
