"""Where the time of a round goes: seconds of each phase, round after round, and each run's shares."""
import numpy as np
from matplotlib.patches import Patch

from report.figures import Drawing, style
from report.figures.groups import column, groups_of, plural, shown_runs

MOST_BARS = 60   # rounds; more are averaged in bins
MOST_RUNS = 30   # rows of the shares


def seconds(run):
    """phase -> seconds of each round; 0 where a value is missing."""
    return {phase: np.nan_to_num(column(run.rounds, f"{phase}_s")) for phase in style.PHASES}


def timed(run):
    return sum(values.sum() for values in seconds(run).values()) > 0


def percent(share):
    return "<0.01 %" if 0 < share < 1e-4 else f"{100 * share:.2g} %"


def legend(figure, totals):
    """The phases with their share of the whole."""
    whole = sum(totals.values())
    style.legend_below(figure, [Patch(color=colour, label=f"{phase.replace('_', ' ')} {percent(totals[phase] / whole)}")
                                for phase, colour in style.PHASES.items()])


def per_round(run):
    phases, rounds = seconds(run), column(run.rounds, "round")
    bins = np.array_split(np.arange(len(rounds)), min(MOST_BARS, len(rounds)))
    figure = style.new_figure(style.NARROW, 2.7)
    axes = figure.subplots()
    left = np.array([rounds[part[0]] for part in bins]) - 0.5
    right = np.array([rounds[part[-1]] for part in bins]) + 0.5
    gap = 0.08 * (right - left) if len(bins) < 40 else 0.0
    base = np.zeros(len(bins))
    for phase, colour in style.PHASES.items():
        means = np.array([phases[phase][part].mean() for part in bins])
        axes.bar(left + gap, means, width=right - left - 2 * gap, bottom=base, align="edge", color=colour, gid=phase)
        base += means
    axes.set_xlabel("round")
    axes.set_ylabel("seconds a round")
    axes.set_xlim(rounds.min() - 0.6, rounds.max() + 0.6)
    axes.set_ylim(bottom=0)
    axes.grid(axis="x", visible=False)
    style.whole_numbers(axes.xaxis)
    legend(figure, {phase: values.sum() for phase, values in phases.items()})
    most = max(map(len, bins))
    return figure, f"; each bar is the mean of up to {most} rounds" if most > 1 else ""


def shares(report):
    """A row a run; with many runs a row a group, and with many groups only the slowest and the fastest."""
    runs = [run for run in report.runs if timed(run)]
    if len(runs) < 2:
        return None
    rows = [(report.drawn(run.label), [run]) for run in runs]
    note = "Each row is a run; beside it its seconds a round. "
    if len(rows) > MOST_RUNS:
        rows = [(group.drawn, [run for run in group.runs if timed(run)]) for group in groups_of(report) if any(map(timed, group.runs))]
        note = "Each row is a group of runs that differ in the seed only; beside it its mean seconds a round. "
    totals = [{phase: sum(seconds(run)[phase].sum() for run in members) for phase in style.PHASES} for _, members in rows]
    pace = [sum(total.values()) / sum(len(run.rounds) for run in members) for total, (_, members) in zip(totals, rows)]
    order = list(range(len(rows)))
    if len(rows) > MOST_RUNS:
        order = sorted(order, key=lambda index: -pace[index])
        order = order[:MOST_RUNS // 2] + order[-MOST_RUNS // 2:]
        note += f"Of {len(rows)} groups the {MOST_RUNS // 2} slowest and the {MOST_RUNS // 2} fastest are shown, the slowest first. "
    names = [rows[index][0] for index in order]
    longest = max(map(len, names))
    figure = style.new_figure(min(max(style.NARROW, 2.0 + 0.058 * longest), style.WIDE), 1.05 + 0.17 * len(order))
    axes = figure.subplots()
    base = np.zeros(len(order))
    for phase, colour in style.PHASES.items():
        part = np.array([totals[index][phase] / sum(totals[index].values()) for index in order])
        axes.barh(range(len(order)), part, left=base, height=0.8, color=colour, gid=phase)
        base += part
    for row, index in enumerate(order):
        axes.text(1.01, row, f"{style.short_number(float(f'{pace[index]:.3g}'))} s", va="center", fontsize=6.5, transform=axes.get_yaxis_transform())
    axes.set_yticks(range(len(order)), [name if len(name) <= 70 else name[:69] + "…" for name in names], fontsize=6.5)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("share of the wall time")
    legend(figure, {phase: sum(total[phase] for total in totals) for phase in style.PHASES})
    return figure, note


def draw(report):
    runs, left_out = shown_runs(report, timed)
    for number, run in enumerate(runs, 1):
        figure, binned = per_round(run)
        text = f"Wall time of each round by phase, in seconds, of {run.label}{binned}; in the legend the shares of the whole run. " \
               "The phases add up to wall_s."
        yield Drawing("phases" if len(runs) == 1 else f"phases_{number}", "Time of the phases" + (f": {run.label}" if len(runs) > 1 else ""),
                      text + left_out, figure)
    made = shares(report)
    if made:
        figure, note = made
        yield Drawing("phase_shares", "Shares of the phases", f"What the wall time of {plural(sum(map(timed, report.runs)), 'run')} was spent on. "
                      f"{note}In the legend the shares over all of them.", figure)
