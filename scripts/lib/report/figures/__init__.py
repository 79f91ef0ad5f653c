"""The figures of a report: each module draws one kind from the tables of the runs, and nothing at all where there is nothing to see.

They know Report and Run (report/load.py), but no file and no page.
"""
from dataclasses import dataclass

from matplotlib.figure import Figure


@dataclass
class Drawing:
    name: str       # that of a file, without its ending; unique in a report
    title: str
    caption: str    # what is seen, units, n, what is left out and why
    figure: Figure


def draw_all(report):
    """One Drawing after the other, made when it is asked for; who takes it clears its figure."""
    from report.figures import client_accuracy, curves, fairness, heat_map, one_axis, panels, partition, phases, staleness, style, timeline
    for module in (panels, curves, one_axis, heat_map, client_accuracy, fairness, partition, staleness, phases, timeline):
        drawings = iter(module.draw(report))
        while True:
            with style.rc():  # not around the yield: the caller's settings are its own
                drawing = next(drawings, None)
            if drawing is None:
                break
            yield drawing
