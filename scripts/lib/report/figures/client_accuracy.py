"""How well the model serves each client: accuracies on the examples that clients hold out, from fairness.csv and client_accuracy.csv."""
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from report.figures import Drawing, style
from report.figures.groups import a_few, column, finite, groups_of, plural, wrapped

BINS = 20          # of accuracies from 0 to 1
MOST_POINTS = 300  # of a line
BANDS = (("accuracy_p10", "accuracy_p90", 0.16, "p10 to p90"), ("accuracy_p25", "accuracy_p75", 0.28, "p25 to p75"))
LINES = (("accuracy_mean", "mean", "-", 1.4), ("accuracy_worst_10", "worst 10 %", (0, (2, 1.2)), 1.1),
         ("accuracy_best_10", "best 10 %", (0, (5, 1.5)), 0.9))
NAMES = {"global": "global model", "personalized": "personalised"}


def of_model(table, model):
    return table[table["model"] == model] if "model" in table.columns else table.iloc[:0]


def over_rounds(runs, model, names):
    """(rounds that all runs evaluated, {name: its mean over the runs})."""
    tables = [of_model(run.fairness, model) for run in runs]
    tables = [table.drop_duplicates("round", keep="last") for table in tables if len(table)]
    if not tables:
        return np.array([]), {}
    rounds = column(tables[0], "round")
    for table in tables[1:]:
        rounds = np.intersect1d(rounds, column(table, "round"))
    kept = np.unique(np.linspace(0, len(rounds) - 1, min(len(rounds), MOST_POINTS)).round().astype(int)) if len(rounds) else []
    rounds = rounds[kept]
    return rounds, {name: np.mean([column(table, name)[np.isin(column(table, "round"), rounds)] for table in tables], axis=0) for name in names}


def new_axes(height):
    figure = style.new_figure(style.NARROW, height)
    return figure, figure.subplots()


def finish(axes, label):
    axes.set_xlabel("round")
    axes.set_ylabel(label)
    style.whole_numbers(axes.xaxis)
    style.plain_numbers(axes.yaxis)


def bands(runs):
    """All of a single group: where the clients lie."""
    rounds, values = over_rounds(runs, "global", {name for low, high, *_ in BANDS for name in (low, high)} | {name for name, *_ in LINES})
    figure, axes = new_axes(2.9)
    handles, marker = [], {"marker": "o", "markersize": 3} if len(rounds) == 1 else {}
    for low, high, alpha, label in BANDS:
        axes.fill_between(rounds, values[low], values[high], color=style.PALETTE[0], alpha=alpha, linewidth=0, gid=f"band {low}")
        handles.append(Patch(color=style.PALETTE[0], alpha=alpha, label=label))
    for name, label, dashes, width in LINES:
        look = {"color": style.PALETTE[1] if "worst" in name else style.PALETTE[0], "linestyle": dashes, "linewidth": width}
        axes.plot(rounds, values[name], gid=f"line {name}", **look, **marker)
        handles.append(Line2D([], [], label=label, **look))
    own, personalized = over_rounds(runs, "personalized", ["accuracy_mean"])
    if len(own):
        look = {"color": style.PALETTE[2], "linestyle": "-", "linewidth": 1.1}
        axes.plot(own, personalized["accuracy_mean"], gid="line personalized", **look, **marker)
        handles.append(Line2D([], [], label="mean, personalised", **look))
    finish(axes, "clients' accuracy")
    style.legend_below(figure, handles)
    return figure


def two_lines_each(groups):
    """Mean and worst tenth of several groups: bands over one another would be one colour."""
    figure, axes = new_axes(2.4 + 0.13 * len(groups))
    handles = []
    for index, group in enumerate(groups):
        rounds, values = over_rounds(group.runs, "global", ["accuracy_mean", "accuracy_worst_10"])
        colour, marker = style.colour_of(index), {"marker": "o", "markersize": 3} if len(rounds) == 1 else {}
        for name, _, dashes, width in LINES[:2]:
            axes.plot(rounds, values[name], color=colour, linestyle=dashes, linewidth=width, gid=f"line {name} {group.label}", **marker)
        handles.append(Line2D([], [], color=colour, label=wrapped(group.label, plural(len(group.runs), "run"))))
    finish(axes, "clients' accuracy")
    style.legend_below(figure, handles)
    return figure


def last_accuracies(run, model):
    return finite(column(of_model(run.client_accuracy, model), "accuracy"))


def histogram(groups):
    """Shares of the clients by their last accuracy; of a single group, of its personalised models too."""
    several = len(groups) > 1
    figure, axes = new_axes(2.3 + 0.13 * len(groups))
    handles, edges = [], np.linspace(0, 1, BINS + 1)
    shown = [(group, "global", index) for index, group in enumerate(groups)]
    shown += [] if several else [(groups[0], "personalized", 2)]
    for group, model, index in shown:
        values = np.concatenate([last_accuracies(run, model) for run in group.runs])
        if not len(values):
            continue
        share = np.histogram(np.clip(values, 0, 1), edges)[0] / len(values)
        colour, filled = style.colour_of(index), not several and model == "global"
        axes.stairs(share, edges, color=colour, fill=filled, alpha=0.45 if filled else 1.0, linewidth=1.2,
                    linestyle="-" if filled else style.dashes_of(index), gid=f"clients {model} {group.label}")
        axes.axvline(values.mean(), color=colour, linewidth=0.9, linestyle=(0, (1, 1)), gid=f"mean {model} {group.label}")
        name = wrapped(group.label, plural(len(values), "client")) if several else f"{NAMES[model]} ({plural(len(values), 'client')})"
        handles.append(Patch(color=colour, alpha=0.45, label=name) if filled else Line2D([], [], color=colour, linestyle=style.dashes_of(index), label=name))
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("accuracy on a client's own examples")
    axes.set_ylabel("share of the clients")
    style.plain_numbers(axes.yaxis)
    style.legend_below(figure, handles)
    return figure


def draw(report):
    groups, left_out = a_few([group for group in groups_of(report) if len(over_rounds(group.runs, "global", [])[0])])
    if not groups:
        return
    seeds = " Means over the runs of a group." if any(len(group.runs) > 1 for group in groups) else ""
    if len(groups) == 1:
        personalized = ("; personalised: of the models that clients make of it in a local epoch"
                        if len(over_rounds(groups[0].runs, "personalized", [])[0]) else "")
        yield Drawing("client_accuracy", "Accuracy on the clients' own examples",
                      "Accuracy of the global model on what each client holds out, over the clients that are evaluated, each counting alike: "
                      "mean, percentiles (p), means of the tenths with the lowest and the highest accuracies" + personalized + "." + seeds, bands(groups[0].runs))
    else:
        yield Drawing("client_accuracy", "Accuracy on the clients' own examples",
                      "Accuracy of the global model on what each client holds out: mean over the clients (solid), and over the tenth of them with "
                      "the lowest accuracies (dashed)." + seeds + left_out, two_lines_each(groups))
    groups = [group for group in groups if any(len(last_accuracies(run, "global")) for run in group.runs)]
    if groups:
        together = " Clients of all runs of a group are taken together." if seeds else ""
        yield Drawing("client_accuracy_last", "Clients by their accuracy",
                      "Share of the clients by the accuracy of the model on what they hold out, in the last round in which they were evaluated; "
                      "dotted: the mean." + together + left_out, histogram(groups))
