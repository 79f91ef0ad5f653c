"""Writes a report on runs and sweeps; see scripts/report -h, which checks the arguments and calls this.

usage: python3 -m report DIR… [--out FOLDER] [--title T] [--baseline AXIS=VALUE] [--columns A,B,C] [--percent] [--label KEY=NAME]…
                       [--no-figures] [--markdown] [--latex] [--tensorboard] [--parquet]
"""
import argparse
import os
import sys
from pathlib import Path

from report import exports, formats, frames, page, pairs, tables
from report.figures import draw_all, style
from report.load import LoadError, load


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/report", add_help=False)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    for name in ("title", "baseline", "columns"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--label", action="append", default=[], dest="labels")
    for name in ("percent", "no-figures", "markdown", "latex", "tensorboard", "parquet"):
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args()


def write(file, text):
    """Whole or not at all: under another name first."""
    partial = file.with_name(file.name + ".part")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, file)


def draw(report, folder):
    """Writes each figure as SVG and PNG; returns what the page needs of them, and forgets the figures themselves."""
    drawn = []
    for drawing in draw_all(report):
        folder.mkdir(parents=True, exist_ok=True)
        svg = style.svg_text(drawing.figure)
        write(folder / f"{drawing.name}.svg", svg)
        style.save(drawing.figure, folder / f"{drawing.name}.png", dpi=200)
        drawn.append((drawing.name, drawing.title, drawing.caption, svg, drawing.figure.get_size_inches()[0]))
        drawing.figure.clear()
    return drawn


def frames_of(report):
    """(a row a run, a row a group or None where each group is one run)"""
    runs = frames.run_frame(report)
    return runs, frames.group_frame(report, runs) if runs["group"].duplicated().any() else None


def tables_of(report, runs, groups, shown=frames.Shown(), baseline=None):
    found = [tables.run_table(report, runs, shown)]
    if groups is not None:
        found.insert(0, tables.group_table(report, groups, shown))
    if paired := pairs.pair_table(report, runs, shown, baseline):
        found.insert(-1, paired)
    failures = tables.failure_table(report)
    return found + ([failures] if failures else [])


def write_latex(report, found, shown, folder):
    """A tabular a file; those of an earlier report that have none now are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for earlier in folder.glob("*.tex"):
        earlier.unlink()
    for table in found:
        write(folder / f"{table.name}.tex", formats.to_latex(table, shown.formulas()))


def write_report(given):
    report = load(given.folders)
    report.title = given.title or report.title
    shown = frames.shown_as(report, given.columns, given.percent, given.labels)
    runs, groups = frames_of(report)
    found = tables_of(report, runs, groups, shown, given.baseline)
    out = given.out or given.folders[0]
    out.mkdir(parents=True, exist_ok=True)
    figures = [] if given.no_figures else draw(report, out / "figures")
    write(out / "report.html", page.render(report, (runs, groups), found, figures, shown))
    if given.markdown:
        write(out / "tables.md", f"# {report.title}\n\n" + "\n\n".join(map(formats.to_markdown, found)) + "\n")
    if given.latex:
        write_latex(report, tables_of(report, runs, groups, shown.in_print(), given.baseline), shown, out / "latex")
    if given.tensorboard:
        exports.tensorboard(report, out / "tensorboard")
    if given.parquet:
        exports.parquet(report, runs, out / "parquet")
    print(f"{page.counted(len(report.runs), 'run')}: {out / 'report.html'}")


def main():
    given = arguments()
    try:
        write_report(given)
    except LoadError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename}: {error.strerror}. --out names another folder for the report.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
