"""How evenly training treats the clients: their losses, how often they took part, and whose training failed."""
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from report.figures import Drawing, style
from report.figures.groups import a_few, column, failures_of, groups_of, plural, wrapped

STEPS = 200       # of one line
MOST_BARS = 25    # clients


def accepted(run):
    return run.clients[(failures_of(run.clients) == "").to_numpy(dtype=bool)]


def last_losses(run):
    """Training loss of each client in the last round in which it was accepted."""
    table = accepted(run)
    ids, losses, rounds = column(table, "client_id"), column(table, "train_loss"), column(table, "round")
    known = np.isfinite(losses) & np.isfinite(ids)
    order = np.argsort(rounds[known], kind="stable")
    last = dict(zip(ids[known][order], losses[known][order]))
    return np.array(list(last.values()))


def times_taken_part(run):
    """How often each client was accepted; those that never were count too, as far as the manifest says how many there are."""
    ids = column(accepted(run), "client_id")
    ids = ids[np.isfinite(ids)].astype(int)
    known = max(int(run.manifest.get("num_clients") or 0), len(run.partition), int(ids.max()) + 1 if len(ids) else 0)
    return np.bincount(ids, minlength=known) if len(ids) else np.array([])


def distribution(report, of, title, label, caption, name, whole):
    """Lines of the share of clients at or below a value, one a group; clients of all its runs together."""
    groups, left_out = a_few([group for group in groups_of(report) if any(len(of(run)) for run in group.runs)])
    if not groups:
        return
    figure = style.new_figure(style.NARROW, 2.2 + 0.13 * len(groups))
    axes = figure.subplots()
    handles = []
    for index, group in enumerate(groups):
        values = np.sort(np.concatenate([of(run) for run in group.runs]))
        x = np.unique(values)
        share = np.searchsorted(values, x, side="right") / len(values)
        if len(x) > STEPS:
            share = np.linspace(0, 1, STEPS + 1)[1:]
            x = np.quantile(values, share, method="inverted_cdf")
        look = {"color": style.colour_of(index), "linestyle": style.dashes_of(index)}
        axes.step(np.concatenate([[x[0]], x]), np.concatenate([[0], share]), where="post", gid=f"{name} {group.label}", **look)
        count = f"{plural(len(values), 'client')}" + (f" in {len(group.runs)} runs" if len(group.runs) > 1 else "")
        handles.append(Line2D([], [], label=wrapped(group.drawn, count), **look))
    axes.set_ylim(0, 1.03)
    axes.set_xlabel(label)
    axes.set_ylabel("share of clients")
    (style.whole_numbers if whole else style.plain_numbers)(axes.xaxis)
    style.legend_below(figure, handles)
    together = " Clients of all runs of a group are taken together." if any(len(group.runs) > 1 for group in groups) else ""
    yield Drawing(name, title, caption + together + left_out, figure)


def failure_bars(report):
    """Clients whose training was lost most often, by kind, over all runs."""
    counts = {}
    for run in report.runs:
        kinds = failures_of(run.clients)
        failed = (kinds != "").to_numpy(dtype=bool)
        for client, kind in zip(column(run.clients, "client_id")[failed], kinds[failed]):
            if np.isfinite(client):
                row = counts.setdefault(int(client), {})
                row[kind] = row.get(kind, 0) + 1
    if not counts:
        return
    order = sorted(counts, key=lambda client: (-sum(counts[client].values()), client))[:MOST_BARS]
    kinds = sorted({kind for row in counts.values() for kind in row})
    figure = style.new_figure(style.NARROW, 2.3)
    axes = figure.subplots()
    base = np.zeros(len(order))
    for index, kind in enumerate(kinds):
        values = np.array([counts[client].get(kind, 0) for client in order])
        axes.bar(range(len(order)), values, bottom=base, width=0.8, color=style.colour_of(index), edgecolor=style.PAPER, linewidth=0.3)
        base += values
    every = 1 if len(order) <= 12 else 2
    axes.set_xticks(range(0, len(order), every), [str(client) for client in order[::every]], rotation=90 if max(order) > 999 else 0)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)
    axes.set_xlim(-0.7, max(len(order), 6) - 0.3)
    axes.set_xlabel("client_id, most losses first")
    axes.set_ylabel("trainings lost")
    axes.set_ylim(bottom=0)
    style.whole_numbers(axes.yaxis)
    style.legend_below(figure, [Patch(color=style.colour_of(index), label=kind.replace("_", " ")) for index, kind in enumerate(kinds)])
    total = sum(sum(row.values()) for row in counts.values())
    caption = f"Trainings without an update, by kind: {total} in all, of {plural(len(counts), 'client')} in {plural(len(report.runs), 'run')}."
    caption += f" The {MOST_BARS} clients with most are shown." if len(counts) > MOST_BARS else ""
    caption += " Left behind: came after the quorum; nothing went wrong." if "left_behind" in kinds else ""
    yield Drawing("failures", "Lost trainings of each client", caption, figure)


def draw(report):
    yield from distribution(
        report, last_losses, "Training loss of the clients", "training loss of a client in its last round",
        "Share of clients whose training loss (cross-entropy, mean per example, in the last round in which the client was accepted) is at "
        "most x. The steeper, the more alike; a long tail to the right are clients that the model serves badly.", "fairness_loss", False)
    yield from distribution(
        report, times_taken_part, "Participation of the clients", "rounds in which a client took part",
        "Share of clients that were accepted at most x times, those that never were included.", "participation", True)
    yield from failure_bars(report)
