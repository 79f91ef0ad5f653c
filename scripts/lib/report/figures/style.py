"""How every figure looks: one column of a paper (3.4 in) or two (7 in), text of 7 to 8 pt, which is also legible on a phone, colours that
colour-blind readers can tell apart and that are readable on white and on near-black.

INK, PAPER, GRID and MUTED are right on white as they are; in an inline SVG the page replaces them by the theme's own. Text is drawn as
outlines (svg.fonttype path): a reader without our font sees what was checked, nothing overlaps, and each letter is stored once a figure.
"""
import io
import math
import re

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

INK, PAPER, GRID, MUTED = "#12131a", "#fdfefc", "#d9dadd", "#75767c"
NARROW, WIDE = 3.4, 7.0  # inches

# Okabe and Ito's, without black and yellow, two a little darker for white paper.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#d99500", "#4aa8e0", "#8c6d3f", "#7f7f86")
DASHES = ("-", (0, (5, 1.5)), (0, (2, 1.2)), (0, (5, 1.5, 1, 1.5)))
FAILURE = "#d7263d"
LABELS = PALETTE + ("#9a4fd0", "#5d8a00")  # of a data set, as many as one can tell apart
PHASES = {"pull_down": "#4aa8e0", "train": "#0072b2", "barrier": "#7f7f86", "aggregate": "#d99500", "server_step": "#cc79a7",
          "evaluate": "#009e73"}

# From violet over blue and green to amber: lightness rises all along, and neither end vanishes on a light or on a dark page.
SEQUENTIAL = LinearSegmentedColormap.from_list("fedhive", ("#5a3fc0", "#3a6fc6", "#13919a", "#4da54a", "#a5a81c", "#e0a800"))
# For pictures in which most is nothing: from the page's own colour to blue.
FROM_NOTHING = LinearSegmentedColormap.from_list("fedhive_from_nothing", ((0.11, 0.50, 0.77, 0.0), (0.11, 0.50, 0.77, 1.0)))

RC = {
    "font.family": "DejaVu Sans", "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7,
    "xtick.labelsize": 7, "ytick.labelsize": 7, "text.color": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.edgecolor": MUTED, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.major.size": 3,
    "ytick.major.size": 3, "xtick.minor.size": 1.5, "ytick.minor.size": 1.5, "xtick.minor.width": 0.4, "ytick.minor.width": 0.4,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.color": GRID,
    "grid.linewidth": 0.5, "lines.linewidth": 1.3, "hatch.linewidth": 0.5, "hatch.color": MUTED, "legend.frameon": False,
    "legend.handlelength": 2.2, "legend.columnspacing": 1.2, "axes.titlelocation": "left", "axes.titlepad": 4,
    "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none", "svg.fonttype": "path", "svg.hashsalt": "fedhive",
    "pdf.fonttype": 42, "axes.formatter.useoffset": False, "axes.formatter.limits": (-4, 5), "axes.unicode_minus": True,
    "axes.xmargin": 0.02, "figure.constrained_layout.h_pad": 0.04, "figure.constrained_layout.w_pad": 0.04,
}


def rc():
    """A context in which figures are made and saved: it changes nothing outside."""
    return matplotlib.rc_context(RC)


def new_figure(width, height):
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def svg_text(figure):
    """The figure as a whole SVG document: the same figure drawn anew gives the same bytes."""
    with rc():
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None}, dpi=150)
    return file.getvalue()


def save(figure, path, **options):
    """A PNG or PDF on white, by the path's suffix."""
    with rc():
        figure.savefig(path, facecolor="white", **options)


def colour_of(index):
    return PALETTE[index % len(PALETTE)]


def dashes_of(index):
    """Neighbours in the palette also differ in their dashes, for black and white prints. When colours repeat, dashes differ: 32 lines
    can be told apart."""
    return DASHES[(index + index // len(PALETTE)) % len(DASHES)]


def width_of(figure, text, size):
    """Of one line of text, in points."""
    formula = text.replace(r"\$", "").count("$") > 1
    renderer = figure.canvas.get_renderer()
    return renderer.get_text_width_height_descent(text, FontProperties(size=size), formula)[0] * 72 / figure.dpi


def broken(text, fits=lambda line: len(line) <= 30):
    """The text on as many lines as it takes, broken after signs between words, within words only where one alone is too long, and never in
    a formula."""
    lines = []
    for line in text.split("\n"):
        lines.append("")
        for part in re.findall(r"(?<!\\)\$.*?(?<!\\)\$|\\\$|[^\s,+_/$\\-]+[\s,+_/-]*|[\s,+_/-]+|.", line):
            if not lines[-1] or fits((lines[-1] + part).rstrip()):
                lines[-1] += part
            else:
                lines.append(part)
            while not fits(lines[-1].rstrip()) and "$" not in part and len(part) > 1:
                most = next(count for count in range(len(lines[-1]) - 1, 0, -1) if count == 1 or fits(lines[-1][:count]))
                lines[-1:] = [lines[-1][:most], lines[-1][most:]]
                part = lines[-1]
    return "\n".join(line.rstrip() for line in lines)


def legend_below(figure, handles, title=None):
    """Under the axes, where it hides no data; in columns as wide as its longest text, which is broken where it is wider than the figure. The
    figure grows by the lines that its height has no room for: 0.13 inches an entry."""
    if not handles:
        return
    size, room = RC["legend.fontsize"], figure.get_size_inches()[0] * 72 - 12
    beside = size * (RC["legend.handlelength"] + 0.8)  # a handle and the gap behind it
    for handle in handles:
        handle.set_label(broken(handle.get_label(), lambda line: width_of(figure, line, size) <= room - beside))
    entry = beside + max(width_of(figure, line, size) for handle in handles for line in handle.get_label().split("\n"))
    gap = size * RC["legend.columnspacing"]
    columns = max(1, min(len(handles), int((room + gap) / (entry + gap))))
    lines = sum(max(handle.get_label().count("\n") + 1 for handle in handles[row::-(-len(handles) // columns)])
                for row in range(-(-len(handles) // columns)))
    if lines > len(handles):
        figure.set_size_inches(figure.get_size_inches()[0], figure.get_size_inches()[1] + 0.13 * (lines - len(handles)))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, title=title, title_fontsize=7)


def log_suits(values):
    """Whether positive values span so much that a linear axis would crowd the small ones."""
    values = [value for value in values if value == value]
    return len(set(values)) >= 2 and min(values) > 0 and max(values) / min(values) >= 10


def norm(values):
    return (LogNorm if log_suits(values) else Normalize)(min(values), max(values))


def short_number(value):
    """0.0001 stays as it is, 100000 becomes 100k: what fits under a tick."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{value:.4g}"


def plain_numbers(axis):
    """No powers of ten in small print, on log axes either."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))


def whole_numbers(axis):
    """Ticks only where there can be data: rounds, clients, counts."""
    axis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))
    plain_numbers(axis)


def number_axis(axes, side, values):
    """For values of a setting: logarithmic where that suits; ticks at the values themselves where they are few and not too close."""
    axis, log = (axes.xaxis, axes.yaxis)[side == "y"], log_suits(values)
    if log:
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
    values = sorted(set(values))
    places = [math.log(value) for value in values] if log else values
    gaps = [right - left for left, right in zip(places, places[1:])]
    if gaps and min(gaps) > 0.11 * (places[-1] - places[0]):
        axis.set_ticks(values)
    elif log:
        axis.set_major_locator(LogLocator(subs=(1.0, 3.0) if places[-1] - places[0] < math.log(2000) else (1.0,)))
    plain_numbers(axis)
    axis.set_minor_formatter(NullFormatter())
