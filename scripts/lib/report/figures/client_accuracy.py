"""How well the model serves each client: accuracies, or what else runs are compared by, on the examples that clients hold out, from
fairness.csv and client_accuracy.csv or client_mse.csv."""
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from report.figures import Drawing, style
from report.figures.groups import a_few, column, finite, groups_of, metric_of_groups, plural, wrapped
from report.metric import metric_of_runs

BINS = 20          # of accuracies from 0 to 1, of errors from 0 to the largest
MOST_POINTS = 300  # of a line
BANDS = (("p10", "p90", 0.16, "p10 to p90"), ("p25", "p75", 0.28, "p25 to p75"))
LINES = (("mean", "mean", "-", 1.4), ("worst_10", "worst 10 %", (0, (2, 1.2)), 1.1), ("best_10", "best 10 %", (0, (5, 1.5)), 0.9))
NAMES = {"global": "global model", "personalized": "personalised"}


def of_model(table, model):
    return table[table["model"] == model] if "model" in table.columns else table.iloc[:0]


def over_rounds(runs, model, names):
    """(rounds that all runs evaluated, {name: the mean over the runs of that column, whose name begins with the metric's})."""
    metric = metric_of_runs(runs).name
    tables = [of_model(run.fairness, model) for run in runs]
    tables = [table.drop_duplicates("round", keep="last") for table in tables if len(table)]
    if not tables:
        return np.array([]), {}
    rounds = column(tables[0], "round")
    for table in tables[1:]:
        rounds = np.intersect1d(rounds, column(table, "round"))
    kept = np.unique(np.linspace(0, len(rounds) - 1, min(len(rounds), MOST_POINTS)).round().astype(int)) if len(rounds) else []
    rounds = rounds[kept]
    return rounds, {name: np.mean([column(table, f"{metric}_{name}")[np.isin(column(table, "round"), rounds)] for table in tables], axis=0) for name in names}


def new_axes(height):
    figure = style.new_figure(style.NARROW, height)
    return figure, figure.subplots()


def finish(axes, label):
    axes.set_xlabel("round")
    axes.set_ylabel(label)
    style.whole_numbers(axes.xaxis)
    style.plain_numbers(axes.yaxis)


def bands(runs):
    """All of a single group: the distribution of its clients."""
    rounds, values = over_rounds(runs, "global", {name for low, high, *_ in BANDS for name in (low, high)} | {name for name, *_ in LINES})
    figure, axes = new_axes(2.9)
    handles, marker = [], {"marker": "o", "markersize": 3} if len(rounds) == 1 else {}
    for low, high, alpha, label in BANDS:
        axes.fill_between(rounds, values[low], values[high], color=style.PALETTE[0], alpha=alpha, linewidth=0, gid=f"band {metric_of_runs(runs).name}_{low}")
        handles.append(Patch(color=style.PALETTE[0], alpha=alpha, label=label))
    for name, label, dashes, width in LINES:
        look = {"color": style.PALETTE[1] if "worst" in name else style.PALETTE[0], "linestyle": dashes, "linewidth": width}
        axes.plot(rounds, values[name], gid=f"line {metric_of_runs(runs).name}_{name}", **look, **marker)
        handles.append(Line2D([], [], label=label, **look))
    own, personalized = over_rounds(runs, "personalized", ["mean"])
    if len(own):
        look = {"color": style.PALETTE[2], "linestyle": "-", "linewidth": 1.1}
        axes.plot(own, personalized["mean"], gid="line personalized", **look, **marker)
        handles.append(Line2D([], [], label="mean, personalised", **look))
    finish(axes, f"clients' {metric_of_runs(runs).title}")
    style.legend_below(figure, handles)
    return figure


def two_lines_each(groups):
    """Mean and worst tenth of several groups: bands over one another would be one colour."""
    figure, axes = new_axes(2.4 + 0.13 * len(groups))
    handles = []
    for index, group in enumerate(groups):
        rounds, values = over_rounds(group.runs, "global", ["mean", "worst_10"])
        colour, marker = style.colour_of(index), {"marker": "o", "markersize": 3} if len(rounds) == 1 else {}
        for name, _, dashes, width in LINES[:2]:
            axes.plot(rounds, values[name], color=colour, linestyle=dashes, linewidth=width, gid=f"line {metric_of_groups(groups).name}_{name} {group.label}", **marker)
        handles.append(Line2D([], [], color=colour, label=wrapped(group.drawn, plural(len(group.runs), "run"))))
    finish(axes, f"clients' {metric_of_groups(groups).title}")
    style.legend_below(figure, handles)
    return figure


def last_values(run, model):
    return finite(column(of_model(run.on_clients, model), run.metric.name))


def histogram(groups):
    """Shares of the clients by their last accuracy; of a single group, of its personalised models too."""
    several = len(groups) > 1
    figure, axes = new_axes(2.3 + 0.13 * len(groups))
    metric = metric_of_groups(groups)
    shown = [(group, "global", index) for index, group in enumerate(groups)]
    shown += [] if several else [(groups[0], "personalized", 2)]
    most = metric.most if np.isfinite(metric.most) else max(last_values(run, model).max(initial=1e-9) for group, model, _ in shown for run in group.runs)
    handles, edges = [], np.linspace(0, most, BINS + 1)
    for group, model, index in shown:
        values = np.concatenate([last_values(run, model) for run in group.runs])
        if not len(values):
            continue
        share = np.histogram(np.clip(values, 0, most), edges)[0] / len(values)
        colour, filled = style.colour_of(index), not several and model == "global"
        axes.stairs(share, edges, color=colour, fill=filled, alpha=0.45 if filled else 1.0, linewidth=1.2,
                    linestyle="-" if filled else style.dashes_of(index), gid=f"clients {model} {group.label}")
        axes.axvline(values.mean(), color=colour, linewidth=0.9, linestyle=(0, (1, 1)), gid=f"mean {model} {group.label}")
        name = wrapped(group.drawn, plural(len(values), "client")) if several else f"{NAMES[model]} ({plural(len(values), 'client')})"
        handles.append(Patch(color=colour, alpha=0.45, label=name) if filled else Line2D([], [], color=colour, linestyle=style.dashes_of(index), label=name))
    axes.set_xlim(0, most)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"{metric.title} on a client's own examples")
    axes.set_ylabel("share of the clients")
    style.plain_numbers(axes.yaxis)
    style.legend_below(figure, handles)
    return figure


def draw(report):
    groups, left_out = a_few([group for group in groups_of(report) if len(over_rounds(group.runs, "global", [])[0])])
    if not groups:
        return
    metric = metric_of_groups(groups)
    title = metric.title[0].upper() + metric.title[1:]
    seeds = " Means over the runs of a group." if any(len(group.runs) > 1 for group in groups) else ""
    if len(groups) == 1:
        personalized = ("; personalised: of the models that clients make of it in a local epoch"
                        if len(over_rounds(groups[0].runs, "personalized", [])[0]) else "")
        yield Drawing("client_accuracy", f"{title} on the clients' own examples",
                      f"{title} of the global model on what each client holds out, over the clients that are evaluated, each counting alike: "
                      "mean, percentiles (p), means of the tenths with the worst and the best values" + personalized + "." + seeds, bands(groups[0].runs))
    else:
        yield Drawing("client_accuracy", f"{title} on the clients' own examples",
                      f"{title} of the global model on what each client holds out: mean over the clients (solid), and over the tenth of them with "
                      "the worst values (dashed)." + seeds + left_out, two_lines_each(groups))
    groups = [group for group in groups if any(len(last_values(run, "global")) for run in group.runs)]
    if groups:
        together = " Clients of all runs of a group are taken together." if seeds else ""
        yield Drawing("client_accuracy_last", f"Clients by their {metric.title}",
                      f"Share of the clients by the {metric.title} of the model on what they hold out, in the last round in which they were evaluated; "
                      "dotted: the mean." + together + left_out, histogram(groups))
