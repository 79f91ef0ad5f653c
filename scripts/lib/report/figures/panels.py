"""The figure of a paper: a panel for each value of one key, a line for each value of another one, the same axes for all and one legend."""
from matplotlib.lines import Line2D

from report.figures import Drawing, style
from report.figures.curves import AXES, PANELS, Plot, points
from report.figures.groups import groups_of, sorted_values
from report.load import LoadError, label_of, telling
from report.metric import metric_of_runs

SIDE_BY_SIDE = 3


def keys_asked_for(report, panels, lines):
    """(key of the panels, keys of the lines); LoadError where they name nothing, or where one line would stand for several settings."""
    key = report.axis_of(panels)
    if key is None:
        raise LoadError(f"--panels {panels}: wants one of the varied keys: {report.axes_in_words()}")
    rows = [group.settings() for group in groups_of(report)]
    if lines is None:
        others = telling([key, *(other for other in report.axes if other != key)], rows)
        return key, [other for other in others if other != key] or [other for other in report.axes if other != key][:1]
    by = report.axis_of(lines)
    if by is None or by == key:
        raise LoadError(f"--lines {lines}: wants one of the varied keys but that of the panels: {report.axes_in_words()}")
    places = [(row.get(key, ""), row.get(by, "")) for row in rows]
    if len(set(places)) < len(places):
        differ = [other for other in telling(report.axes, rows) if other not in (key, by)]
        raise LoadError(f"--lines {lines}: several settings have the same value of it in a panel, they differ in {', '.join(differ)}; leave --lines "
                        "out, or give the folders of the runs that belong into the figure")
    return key, [by]


class Panels:
    """One figure over one x axis."""

    def __init__(self, report, axis, name, keys):
        self.report, self.axis, self.name, (self.key, self.by) = report, axis, name, keys
        self.groups = groups_of(report)
        self.values = [text for text in sorted_values(group.settings().get(self.key, "") for group in self.groups)]
        self.lines = list(dict.fromkeys(self.line_of(group) for group in self.groups))
        columns = 2 if len(self.values) == 4 else min(len(self.values), SIDE_BY_SIDE)
        rows = -(-len(self.values) // columns)
        width = style.NARROW if columns == 1 else style.WIDE
        self.figure = style.new_figure(width, 0.5 + 1.9 * rows + 0.13 * len(self.lines))
        grid = self.figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for unused in grid[len(self.values):]:
            unused.remove()
        self.panels, self.columns, self.inches = grid[:len(self.values)], columns, (width - 0.6) / columns
        self.plots = [Plot(report, axis, [name], [panel]) for panel in self.panels]

    def line_of(self, group):
        return tuple(group.settings().get(key, "") for key in self.by)

    def draw(self):
        bands = len(self.lines) <= 3
        counts = set()
        for value, plot in zip(self.values, self.plots):
            plot.bands, plot.many = bands, False
            plot.groups = [group for group in self.groups if group.settings().get(self.key, "") == value]
            for group in plot.groups:
                index = self.lines.index(self.line_of(group))
                counts.add(plot.mean_of(group, style.colour_of(index), style.dashes_of(index)))
                plot.unfinished(group, style.colour_of(index))
        self.counts = sorted(counts - {0})
        self.finish()

    def finish(self):
        first = self.plots[0]
        first.limits(self.name, self.panels[0], self.panels[1:])
        first.bars = max(plot.bars for plot in self.plots)
        first.room_for_bars(self.panels[0], self.inches)
        (style.whole_numbers if self.axis.name == "rounds" else style.plain_numbers)(self.panels[0].xaxis)
        key = self.report.names()[self.key]
        for number, (value, panel) in enumerate(zip(self.values, self.panels)):
            panel.set_title(self.report.drawn(value or "–") if self.key == "case" else f"{key} = {self.report.drawn(value or '–')}")
            if number % self.columns == 0:
                panel.set_ylabel(PANELS[self.name])
            if number + self.columns >= len(self.values):
                panel.set_xlabel(first.x_label())
                panel.tick_params(labelbottom=True)
        handles = [Line2D([], [], color=style.colour_of(index), linestyle=style.dashes_of(index), label=self.label(line))
                   for index, line in enumerate(self.lines)]
        style.legend_below(self.figure, handles, None if len(self.by) != 1 or self.by == ["case"] else self.report.names()[self.by[0]])

    def label(self, line):
        """A single value stands under the legend's title, which is its key."""
        if len(self.by) == 1:
            return self.report.drawn(line[0] or "–")
        return label_of(dict(zip(self.by, line)), self.report.axes, self.report.drawn)

    def caption(self):
        plot = self.plots[0]
        plot.names, plot.groups = [self.name], self.groups
        for other in self.plots[1:]:
            plot.notes += other.notes
        n = "" if self.counts in ([], [1]) else f" n = {' to '.join(map(str, sorted({self.counts[0], self.counts[-1]})))} runs a line."
        said = self.report.names(self.report.shown)
        return (f"A panel for each value of {said[self.key]}, a line for each value of {', '.join(said[key] for key in self.by)}; the axes are the same "
                f"in all.{n} {plot.caption()}")


def draw(report):
    if report.panels is None:
        return
    metric = metric_of_runs(report.runs)
    name = next((name for name in (metric.column, "test_loss", "train_loss") if any(len(points(run, AXES[0], name)[0]) for run in report.runs)), None)
    for axis in AXES:
        if name is None or not any(len(points(run, axis, name)[0]) for run in report.runs):
            continue
        made = Panels(report, axis, name, report.panels)
        made.draw()
        what = PANELS[name].removeprefix("test ")
        yield Drawing(f"panels_{axis.name}", f"{what[0].upper()}{what[1:]} against {axis.title}, by {report.names(report.shown)[report.panels[0]]}",
                      made.caption(), made.figure)
