"""What the coordinator and each worker did when, and how busy the workers were over the whole run. Needs the column started_s."""
import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from report.figures import Drawing, style
from report.figures.groups import column, failures_of, plural, shown_runs

WINDOW = 3         # rounds from the middle of a long run
MOST_BOXES = 1200  # clients in the window; fewer rounds where there are more
MOST_ROWS = 64     # workers
BINS = 120         # of the utilisation


def timed(run):
    """Whether both tables say when things began; folders written before that column do not."""
    return len(trainings(run)[0]) > 0 and any(end > start for start, end in round_spans(run).values())


def trainings(run):
    """start, end, worker, client of each training that has them."""
    table = run.clients
    start, length = column(table, "started_s"), column(table, "seconds")
    worker, client = column(table, "worker"), column(table, "client_id")
    known = np.isfinite(start) & np.isfinite(length) & np.isfinite(worker)
    return start[known], (start + length)[known], worker[known].astype(int), client[known]


def round_spans(run):
    """round -> (start, end), in seconds of the run."""
    start, length = column(run.rounds, "started_s"), np.nan_to_num(column(run.rounds, "wall_s"))
    return {int(number): (begin, begin + took) for number, begin, took in zip(column(run.rounds, "round"), start, length)
            if np.isfinite(begin) and np.isfinite(number)}


def window_of(run):
    """The rounds that are drawn: all of few, else some from the middle, so few that each client's box can be seen."""
    rounds = sorted(round_spans(run))
    count = len(rounds) if len(rounds) <= WINDOW + 1 else WINDOW
    per_round = max(1, len(run.clients) / max(1, len(rounds)))
    count = max(1, min(count, int(MOST_BOXES / per_round)))
    first = (len(rounds) - count) // 2
    return rounds[first:first + count]


def busy(start, end, edges, workers):
    """Share of each bin in which the workers trained: overlap of [start, end) with the bin, over bin times workers."""
    def passed(moments, at):  # sum over moments m <= t of (t - m)
        order = np.sort(moments)
        sums = np.concatenate([[0.0], np.cumsum(order)])
        count = np.searchsorted(order, at, side="right")
        return at * count - sums[count]

    worked = passed(start, edges) - passed(end, edges)
    return np.diff(worked) / (np.diff(edges) * workers)


def box(left, right, row, height=0.8):
    return [(left, row - height / 2), (right, row - height / 2), (right, row + height / 2), (left, row + height / 2)]


def coordinator_row(axes, run, window, row):
    """The phases of each round, one after the other from where it began."""
    for phase, colour in style.PHASES.items():
        boxes = []
        for index, number in enumerate(column(run.rounds, "round")):
            if number in window and np.isfinite(column(run.rounds, "started_s")[index]):
                before = sum(np.nan_to_num(column(run.rounds, f"{name}_s")[index]) for name in list(style.PHASES)[:list(style.PHASES).index(phase)])
                begin = column(run.rounds, "started_s")[index] + before
                boxes.append(box(begin, begin + np.nan_to_num(column(run.rounds, f"{phase}_s")[index]), row))
        # Its training is a wait for the workers.
        axes.add_collection(PolyCollection(boxes, facecolors=colour, alpha=0.25 if phase == "train" else 1.0, linewidths=0, gid=f"phase {phase}"))


def failure_marks(axes, run, window, spans, rows):
    """A × on the row of the worker at the end of the round's training: the tables do not say at which moment a client failed."""
    took = np.nan_to_num(column(run.rounds, "pull_down_s") + column(run.rounds, "train_s"))
    training_end = {int(number): spans[int(number)][0] + length for number, length in zip(column(run.rounds, "round"), took) if number in window}
    kinds = failures_of(run.clients)
    failed = ((kinds != "") & (kinds != "left_behind")).to_numpy(dtype=bool)
    at = [(training_end[int(number)], rows.get(int(worker) if np.isfinite(worker) else -1, 0))
          for number, worker in zip(column(run.clients, "round")[failed], column(run.clients, "worker")[failed]) if number in window]
    if at:
        axes.plot(*zip(*at), linestyle="", marker="x", color=style.FAILURE, markersize=5, markeredgewidth=1.2, gid="failures", zorder=5)
    return bool(at)


def workers_panel(axes, run, window, workers):
    spans = round_spans(run)
    left, right = min(spans[number][0] for number in window), max(spans[number][1] for number in window)
    rows = {worker: index + 1 for index, worker in enumerate(workers)}
    start, end, worker, client = trainings(run)
    seen = (end > left) & (start < right) & np.isin(worker, workers)
    boxes = [box(max(a, left), min(b, right), rows[w]) for a, b, w in zip(start[seen], end[seen], worker[seen])]
    axes.add_collection(PolyCollection(boxes, facecolors=style.PHASES["train"], edgecolors=style.PAPER, linewidths=0.4, gid="trainings",
                                       rasterized=len(boxes) > 2 * MOST_BOXES))
    inches = (axes.figure.get_size_inches()[0] - 0.9) / (right - left)
    if len(workers) <= 24:
        for a, b, w, number in zip(start[seen], end[seen], worker[seen], client[seen]):
            a, b = max(a, left), min(b, right)
            if (b - a) * inches > 0.075 * len(f"{number:.0f}") + 0.03:
                axes.text((a + b) / 2, rows[w], f"{number:.0f}", ha="center", va="center_baseline", fontsize=5.5, color="#fefefe")
    coordinator_row(axes, run, window, 0)
    failed = failure_marks(axes, run, window, spans, rows)
    for number in window:
        axes.axvline(spans[number][0], color=style.MUTED, linewidth=0.6, linestyle=(0, (2, 2)))
        axes.text(spans[number][0], -0.62, f" round {number}", fontsize=6.5, va="bottom", ha="left")
    axes.set_xlim(left, right)
    axes.set_ylim(len(workers) + 0.5, -0.6)
    named = range(len(workers)) if len(workers) <= 24 else range(4, len(workers), 4)
    lone = run.manifest.get("workers") == 0
    axes.set_yticks([0, *(index + 1 for index in named)],
                    ["coordinator", *("its training" if lone else f"worker {workers[index]}" for index in named)])
    axes.tick_params(axis="y", length=0)
    axes.grid(False)
    axes.set_xlabel("seconds since the run began")
    return failed, (left, right)


def utilisation(axes, run, workers, window):
    spans = round_spans(run)
    start, end, worker, _ = trainings(run)
    edges = np.linspace(min(span[0] for span in spans.values()), max(span[1] for span in spans.values()), min(BINS, 4 * len(start)) + 1)
    share = busy(start, end, edges, len(workers))
    axes.stairs(share, edges, fill=True, color=style.PHASES["train"], alpha=0.75, linewidth=0, gid="utilisation")
    axes.axvspan(*window, color=style.MUTED, alpha=0.25, linewidth=0)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    axes.set_ylabel("busy")
    axes.set_xlabel("seconds since the run began")
    return float(np.average(share, weights=np.diff(edges)))


def timeline(run):
    workers = sorted(set(trainings(run)[2].tolist()))
    shown, window = workers[:MOST_ROWS], window_of(run)
    whole = len(window) == len(round_spans(run))
    rows = 0.85 + (0.2 if len(shown) <= 24 else 0.09) * (len(shown) + 1)
    figure = style.new_figure(style.WIDE, rows + 0.35 + (0 if whole else 1.15))
    panels = [figure.subplots()] if whole else figure.subplots(2, 1, height_ratios=(rows, 1.15))
    failed, span = workers_panel(panels[0], run, window, shown)
    text = f"What happened when in {run.label}: " + ("all rounds. " if whole else f"rounds {window[0]} to {window[-1]}, from its middle. " if
                                                     len(window) > 1 else f"round {window[0]}, from its middle. ")
    text += "Boxes on the workers' rows are clients in training, with their client_id where there is room. The coordinator's phases are drawn " \
            "one after the other; its train phase, pale, is a wait for the workers."
    if len(shown) < len(workers):
        text += f" The first {len(shown)} of {len(workers)} workers."
    if failed:
        text += " Red ×: a client failed on this worker in this round (marked at the end of its training: the moment is not recorded)."
    if not whole:
        mean = utilisation(panels[1], run, workers, span)
        text += f" Below, the share of the {plural(len(workers), 'worker')} that was training, over the whole run (mean {100 * mean:.0f} %; " \
                "grey: what is above)."
    style.legend_below(figure, [Patch(color=colour, label=phase.replace("_", " ")) for phase, colour in style.PHASES.items()])
    return figure, text


def draw(report):
    """Nothing for folders without started_s."""
    runs, left_out = shown_runs(report, timed)
    for number, run in enumerate(runs, 1):
        figure, text = timeline(run)
        yield Drawing("timeline" if len(runs) == 1 else f"timeline_{number}", "Who did what when" + (f": {run.label}" if len(runs) > 1 else ""),
                      text + left_out, figure)
