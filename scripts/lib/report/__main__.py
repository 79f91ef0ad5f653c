"""Writes a report on runs and sweeps; see scripts/report -h, which checks the arguments and calls this.

usage: python3 -m report DIR… [--out FOLDER] [--title T] [--no-figures] [--markdown] [--latex] [--tensorboard] [--parquet]
"""
import argparse
import os
import sys
from pathlib import Path

from report import exports, page, tables
from report.figures import draw_all, style
from report.load import LoadError, load


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/report", add_help=False)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--title")
    for name in ("no-figures", "markdown", "latex", "tensorboard", "parquet"):
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


def tables_of(report, runs, groups):
    found = [tables.run_table(report, runs)]
    if groups is not None:
        found.insert(0, tables.group_table(report, groups))
    failures = tables.failure_table(report)
    return found + ([failures] if failures else [])


def write_report(given):
    report = load(given.folders)
    report.title = given.title or report.title
    out = given.out or given.folders[0]
    out.mkdir(parents=True, exist_ok=True)
    runs = tables.run_frame(report)
    groups = tables.group_frame(report, runs) if runs["group"].duplicated().any() else None
    shown = tables_of(report, runs, groups)
    figures = [] if given.no_figures else draw(report, out / "figures")
    write(out / "report.html", page.render(report, (runs, groups), shown, figures))
    if given.markdown:
        write(out / "tables.md", f"# {report.title}\n\n" + "\n\n".join(map(tables.to_markdown, shown)) + "\n")
    if given.latex:
        write(out / "tables.tex", "% \\usepackage{booktabs}\n" + "\n".join(map(tables.to_latex, shown)))
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
