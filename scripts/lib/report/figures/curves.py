"""Accuracy, or what else runs are compared by, and loss against rounds, seconds, simulated seconds and bytes."""
from dataclasses import dataclass

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from report.figures import Drawing, style
from report.figures.groups import (CRASHED, MANY, best_median_worst, column, finite, groups_of, interval_within, mean_interval, number_of,
                                   plural, weights_note, wrapped)
from report.metric import METRICS, metric_of_runs

GRID_POINTS = 200      # of a mean over runs whose x differ
LINE_POINTS = 300      # of one line; more are thinned
ALL_POINTS = 6000      # of one panel
END_GAP = 3.5          # points between intervals at the ends of lines
MOST_BANDS = 3         # more of them over one another are one brown; then intervals stand at the ends of the lines
PANELS = {**{metric.column: f"test {metric.title}" for metric in METRICS}, "test_loss": "test loss", "train_loss": "training loss"}


@dataclass
class Axis:
    name: str
    label: str
    title: str
    of: object        # rounds -> x of each row
    units: tuple      # (size, name), ascending


AXES = (
    Axis("rounds", "round", "rounds", lambda rounds: column(rounds, "round"), ()),
    Axis("wall", "wall time", "wall time", lambda rounds: np.cumsum(np.nan_to_num(column(rounds, "wall_s"))),
         ((1, "s"), (60, "min"), (3600, "h"))),
    Axis("virtual", "simulated time", "simulated time", lambda rounds: column(rounds, "virtual_s"), ((1, "s"), (60, "min"), (3600, "h"))),
    Axis("bytes", "bytes down and up", "communication",
         lambda rounds: np.cumsum(np.nan_to_num(column(rounds, "bytes_down") + column(rounds, "bytes_up"))),
         ((1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"))),
)


def points(run, axis, name):
    """x and y of the rounds in which both are known; of a round that a damaged table holds twice the last row."""
    x, y = axis.of(run.rounds), column(run.rounds, name)
    known = np.isfinite(x) & np.isfinite(y)
    if axis.name == "rounds":
        x, last = np.unique(x[known][::-1], return_index=True)
        return x, y[known][::-1][last]
    return x[known], y[known]


def mean_curve(runs, axis, name):
    """(x, mean, half an interval, n) over runs; None if they share no x. If their x differ in the rounds, values in
    between are interpolated linearly, from where the last run begins to where the first one ends: n is the same all along."""
    curves = [curve for curve in (points(run, axis, name) for run in runs) if len(curve[0])]
    if not curves:
        return None
    if axis.name == "rounds" or all(np.array_equal(curve[0], curves[0][0]) for curve in curves):
        x = curves[0][0]
        for other, _ in curves[1:]:
            x = np.intersect1d(x, other)
        rows = [values[np.isin(own, x)] for own, values in curves]
    else:
        x = np.unique(np.concatenate([own for own, _ in curves]))
        x = x[(x >= max(own[0] for own, _ in curves)) & (x <= min(own[-1] for own, _ in curves))]
        if len(x) > GRID_POINTS:
            x = np.linspace(x[0], x[-1], GRID_POINTS)
        rows = [np.interp(x, own, values) for own, values in curves]
    if not len(x):
        return None
    mean, half = mean_interval(np.array(rows))
    return x, mean, half, len(curves)


def thinned(limit, *arrays):
    """At most `limit` of the points, evenly, the first and the last among them."""
    if len(arrays[0]) <= limit:
        return arrays
    kept = np.unique(np.linspace(0, len(arrays[0]) - 1, limit).round().astype(int))
    return tuple(array[kept] for array in arrays)


class Plot:
    """One figure: a panel for each quantity that is known, over one x axis. `panels`: Axes of another figure to draw in, and no new one."""

    def __init__(self, report, axis, names, panels=None):
        self.groups, self.axis, self.names = groups_of(report), axis, names
        self.axes_keys, self.key_names, self.packed = report.axes, report.names(), report.packed
        if panels is None:
            figure = style.new_figure(style.NARROW, 0.9 + 1.7 * len(names) + 0.13 * min(len(self.groups), MANY))
            panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
        self.figure, self.panels = panels[0].figure, dict(zip(names, panels))
        most = max((values.max() for values in (finite(axis.of(run.rounds)) for run in report.runs) if len(values)), default=0)
        self.scale, self.unit = max(((size, unit) for size, unit in axis.units if size * 2 <= most), default=axis.units[:1] and axis.units[0]
                                    or (1, ""))
        self.most = most / self.scale
        self.line_points = max(20, min(LINE_POINTS, ALL_POINTS // max(1, len(report.runs))))
        self.many = len(self.groups) > MANY
        self.bands = len(self.groups) <= MOST_BANDS or self.many  # of many groups three at most have any
        self.handles, self.notes, self.bar, self.weights = [], [], None, weights_note(report)
        self.bars = 0   # intervals beside the ends of the lines

    def line(self, panel, x, y, **look):
        if len(x) > self.line_points:
            self.notes.append("thinned")
        x, y = thinned(self.line_points, x / self.scale, y)
        marker = {"marker": "o", "markersize": 3} if len(x) == 1 else {}
        return panel.plot(x, y, **{**marker, **look})[0]

    def mean_of(self, group, colour, dashes, width=1.3, band=True, **more):
        """A group's mean in every panel, with its interval. Returns n of the mean."""
        n = 0
        for name, panel in self.panels.items():
            curve = mean_curve(group.finished(), self.axis, name)
            if curve is None:
                continue
            x, mean, half, count = curve
            n = max(n, count)
            if count > 1 and not np.isin(x, points(group.finished()[0], self.axis, name)[0]).all():
                self.notes.append("interpolated")
            self.line(panel, x, mean, color=colour, linestyle=dashes, linewidth=width, gid=f"mean {name} {group.label}", **more)
            if band and count > 1:
                self.interval(panel, x / self.scale, interval_within(name, mean, half), colour, f"interval {name} {group.label}")
        return n

    def interval(self, panel, x, ends, colour, gid):
        """A band along the line, or a bar beside its end: bars of several groups stand side by side."""
        if self.bands:
            panel.fill_between(*thinned(self.line_points, x, *ends), color=colour, alpha=0.15, linewidth=0, gid=gid)
            return
        before = sum(str(item.get_gid()).startswith("interval") for item in panel.collections)
        right = ScaledTranslation(END_GAP * (before + 1) / 72, 0, self.figure.dpi_scale_trans)
        panel.add_collection(LineCollection([[(x[-1], ends[0][-1]), (x[-1], ends[1][-1])]], colors=colour, linewidths=1.6,
                                            transform=panel.transData + right, gid=gid), autolim=False)
        self.bars = max(self.bars, before + 1)

    def training_loss(self, group, colour):
        curve = mean_curve(group.finished(), self.axis, "train_loss")
        if curve is not None and "test_loss" in self.panels:
            self.line(self.panels["test_loss"], *curve[:2], color=colour, linestyle=":", linewidth=0.9, gid=f"training {group.label}")

    def unfinished(self, group, colour):
        """Runs that did not finish, each to where it got, with its end marked."""
        for run in group.runs:
            if run.status == "finished":
                continue
            mark = "x" if run.status in CRASHED else "o" if run.status == "stopped" else ""
            for name, panel in self.panels.items():
                x, y = points(run, self.axis, name)
                if not len(x):
                    continue
                self.line(panel, x, y, color=colour, linewidth=0.6, alpha=0.8, gid=f"unfinished {name} {run.label}")
                if mark:
                    panel.plot(x[-1:] / self.scale, y[-1:], marker=mark, color=colour, markersize=5, markerfacecolor="none", linestyle="",
                               gid=f"end {name} {run.label}", zorder=4)

    def failures(self):
        """A tick on the lowest axis where clients failed in a round; of many groups they would fill it."""
        if self.many:
            return
        panel = list(self.panels.values())[-1]
        for index, group in enumerate(self.groups):
            x = np.concatenate([self.axis.of(run.rounds)[column(run.rounds, "failed") > 0] for run in group.runs] or [[]])
            x = np.unique((finite(x) / max(self.scale * self.most, 1e-300) * 400).round()) / 400 * self.most
            if not len(x):
                continue
            colour = style.FAILURE if len(self.groups) == 1 else style.colour_of(index)
            panel.add_collection(LineCollection([[(at, 0), (at, 0.05)] for at in x], colors=colour, linewidths=0.8, clip_on=False,
                                                transform=panel.get_xaxis_transform(), gid=f"failures {group.label}"), autolim=False)
            if "ticks" not in self.notes:
                self.notes.append("ticks")

    def few_groups(self):
        alone = len(self.groups) == 1
        for index, group in enumerate(self.groups):
            colour, dashes = style.colour_of(index), style.dashes_of(index)
            n = self.mean_of(group, colour, dashes)
            self.training_loss(group, colour)
            self.unfinished(group, colour)
            count = f"n = {n}" if n == len(group.runs) else f"n = {n} of {len(group.runs)}"
            self.handles.append(Line2D([], [], color=colour, linestyle=dashes, label=wrapped(group.drawn, count)))
        if any(str(line.get_gid()).startswith("training") for panel in self.panels.values() for line in panel.lines):
            colour = style.colour_of(0) if alone else style.MUTED
            self.handles.append(Line2D([], [], color=colour, linestyle=":", linewidth=0.9, label="training loss"))

    def many_groups(self):
        """Coloured by the first numeric axis; without one only the best, the median and the worst stand out."""
        key = next((key for key in self.axes_keys if len({group.settings().get(key) for group in self.groups}) > 2
                    and sum(number_of(group.settings().get(key)) is not None for group in self.groups) * 2 > len(self.groups)), None)
        if key is not None:
            values = [number_of(group.settings().get(key)) for group in self.groups]
            norm = style.norm([value for value in values if value is not None])
            for group, value in zip(self.groups, values):
                colour = style.MUTED if value is None else style.SEQUENTIAL(norm(value))
                self.mean_of(group, colour, "-", width=0.8, band=False)
                self.unfinished(group, colour)
            self.bar = (norm, self.key_names[key], values)
            return
        best = best_median_worst(self.groups)
        for group in self.groups:
            if group not in best:
                self.mean_of(group, style.MUTED, "-", width=0.5, band=False, alpha=0.6)
                self.unfinished(group, style.MUTED)
        for index, (group, word) in enumerate(zip(best, ("best", "median", "worst"))):
            n = self.mean_of(group, style.colour_of(index), style.dashes_of(index), zorder=3)
            self.handles.append(Line2D([], [], color=style.colour_of(index), linestyle=style.dashes_of(index),
                                       label=wrapped(f"{word}: {group.drawn}", f"n = {n}")))
        self.handles.append(Line2D([], [], color=style.MUTED, linewidth=0.5, label=f"{len(self.groups) - len(best)} other groups"))

    def limits(self, name, panel, others=()):
        """Lines take at least 40 % of the height: a wide interval of two seeds is cut off instead of flattening everything. `others`: panels
        that share the axis."""
        drawn = finite(np.concatenate([line.get_ydata() for one in (panel, *others) for line in one.lines if line.get_transform() == one.transData]
                                      or [[]]))
        if not len(drawn):
            return
        bars = [segment[:, 1] for one in (panel, *others) for item in one.collections if str(item.get_gid()).startswith("interval")
                and isinstance(item, LineCollection) for segment in item.get_segments()]
        ends, (low, high) = finite(np.concatenate(bars or [[]])), panel.get_ylim()
        if len(ends):
            margin = 0.03 * (high - low)
            low, high = min(low, ends.min() - margin), max(high, ends.max() + margin)
        room = max(drawn.max() - drawn.min(), 0.02 if name == "test_accuracy" else 1e-3)
        lowest, highest = max(low, drawn.min() - 0.75 * room), min(high, drawn.max() + 0.75 * room)
        if (lowest, highest) != (low, high) and any(str(item.get_gid()).startswith("interval") for one in (panel, *others) for item in one.collections):
            self.notes.append("cut")
        if name == "test_accuracy":
            lowest, highest = max(lowest, -0.02), min(highest, 1.02)
        elif style.log_suits(drawn) and drawn.max() / drawn.min() >= 50:
            panel.set_yscale("log")
            lowest, highest = drawn.min() / 1.3, drawn.max() * 1.3
        else:
            lowest = max(lowest, -0.02 * highest)
        panel.set_ylim(lowest, highest)

    def x_label(self):
        return self.axis.label + (f" ({self.unit})" if self.unit else "")

    def room_for_bars(self, panel, inches):
        """Beside the last round of a panel of that width."""
        if self.bars:
            left, right = panel.get_xlim()
            panel.set_xlim(left, left + (right - left) / (1 - END_GAP * (self.bars + 1) / (inches * 72)))

    def finish(self):
        for name, panel in self.panels.items():
            self.limits(name, panel)
            panel.set_ylabel("loss" if name == "test_loss" and not self.many else PANELS[name])
        lowest = list(self.panels.values())[-1]
        lowest.set_xlabel(self.x_label())
        (style.whole_numbers if self.axis.name == "rounds" else style.plain_numbers)(lowest.xaxis)
        self.room_for_bars(lowest, style.NARROW - 0.6)
        self.figure.align_ylabels(list(self.panels.values()))
        if self.bar:
            bar = self.figure.colorbar(ScalarMappable(self.bar[0], style.SEQUENTIAL), ax=list(self.panels.values()), location="bottom",
                                       label=self.bar[1], aspect=30, pad=0.02)
            style.number_axis(bar.ax, "x", [value for value in self.bar[2] if value is not None])
            bar.outline.set_visible(False)
            bar.ax.grid(False)
        style.legend_below(self.figure, self.handles)

    def caption(self):
        statuses = [run.status for group in self.groups for run in group.runs]
        means = [len(group.finished()) for group in self.groups]
        metric = metric_of_runs([run for group in self.groups for run in group.runs])
        text = f"Test {metric.title} ({metric.meaning})" if metric.column in self.names else ""
        if "test_loss" in self.names or "train_loss" in self.names:
            text += (f" and {metric.loss}" if text else metric.loss.capitalize()) + " (mean per example)"
        text += f" against {self.axis.label}{f' ({self.unit})' if self.unit else ''}"
        text += {"wall": ", the sum of the rounds' wall_s" + (", of runs that shared the machine: it does not compare them" if self.packed else ""),
                 "bytes": ", summed over rounds"}.get(self.axis.name, "") + ". "
        text += "Vertical axes need not begin at 0. "
        if max(means) > 1:
            text += "Lines are means over the seeds that finished" + ("" if self.many else "; bands their 95 % intervals (Student's t)" if self.bands else
                                                                    "; bars at their right ends are 95 % intervals there (Student's t)") + ". "
            if "interpolated" in self.notes:
                text += "Where the seeds' x differ, values between rounds are interpolated linearly, as far as all of them got. "
        if any(sum(run.status == "finished" for run in group.runs) > len(group.finished()) for group in self.groups):
            text += "Finished runs that repeat a seed of their group count once. "
        if "thinned" in self.notes:
            text += f"Of longer lines {self.line_points} points are drawn, evenly chosen. "
        if "cut" in self.notes:
            text += "Bands that are much wider than the lines' range are cut off by the frame. "
        if self.many:
            text += f"{len(self.groups)} groups of runs; "
            text += "intervals, " if self.bar else f"all but the best, the median and the worst by final {metric.title} are grey, without intervals; "
            text += "training loss and marks of failures are left out. "
        crashed, stopped = sum(status in CRASHED for status in statuses), statuses.count("stopped")
        others = sum(status in ("running", "paused", "interrupted") for status in statuses)
        if crashed or stopped or others:
            ends = [f"{plural(crashed, 'run')} that failed or {'were' if crashed > 1 else 'was'} killed (×)"] if crashed else []
            ends += [f"{plural(stopped, 'run')} stopped early (○)"] if stopped else []
            ends += [f"{plural(others, 'run')} not at the end yet"] if others else []
            text += "In no mean, but drawn thin to where they got: " + ", ".join(ends) + ". "
        if "ticks" in self.notes:
            text += "Ticks on the lower axis: rounds in which clients failed. "
        return (text + self.weights).strip()


def draw(report):
    metric = metric_of_runs(report.runs)
    wanted = [metric.column, *([] if metric.is_loss else ["test_loss"]), "train_loss"]
    known = [name for name in wanted if any(len(finite(column(run.rounds, name))) for run in report.runs)]
    names = [name for name in known if name != "train_loss"] or known  # a panel of its own only where nothing was evaluated
    for axis in AXES:
        if not any(len(points(run, axis, name)[0]) for run in report.runs for name in names):
            continue
        plot = Plot(report, axis, names)
        plot.many_groups() if plot.many else plot.few_groups()
        plot.failures()
        plot.finish()
        yield Drawing(f"curves_{axis.name}", f"{metric.title[0].upper()}{metric.title[1:]} and loss against {axis.title}", plot.caption(), plot.figure)
