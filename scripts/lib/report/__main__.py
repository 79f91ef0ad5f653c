"""Writes a report on runs and sweeps; see scripts/report -h, which checks the arguments and calls this.

usage: python3 -m report DIR… [--out FOLDER] [--title T] [--baseline AXIS=VALUE] [--columns A,B,C] [--percent] [--label KEY=NAME]…
                       [--table rows=KEY --table columns=KEY] [--spread std|ci] [--panels KEY [--lines KEY]]
                       [--no-figures] [--markdown] [--latex] [--tensorboard [--follow]] [--parquet]
"""
import argparse
import os
import sys
from pathlib import Path

from report import exports, follow, formats, frames, page, pairs, paper, tables
from report.figures import draw_all, panels, style
from report.load import LoadError, load


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/report", add_help=False)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    for name in ("title", "baseline", "columns", "spread", "panels", "lines"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--label", action="append", default=[], dest="labels")
    parser.add_argument("--table", action="append", default=[])
    for name in ("percent", "no-figures", "markdown", "latex", "tensorboard", "follow", "parquet"):
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


def tables_of(report, runs, groups, shown=frames.Shown(), baseline=None, asked=()):
    found = [tables.run_table(report, runs, shown)]
    if groups is not None:
        found.insert(0, tables.group_table(report, groups, shown))
    if paired := pairs.pair_table(report, runs, shown, baseline):
        found.insert(-1, paired)
    if asked:
        found = paper.paper_tables(report, frames.group_frame(report, runs), shown, asked) + found
    failures = tables.failure_table(report)
    return found + ([failures] if failures else [])


def write_latex(found, shown, folder):
    """A tabular a file; those of an earlier report that have none now are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for earlier in folder.glob("*.tex"):
        earlier.unlink()
    for table in found:
        write(folder / f"{table.name}.tex", formats.to_latex(table, shown.formulas()))


def write_report(given):
    if given.follow:
        follow.follow(given.folders, (given.out or given.folders[0]) / "tensorboard")
    report = load(given.folders)
    report.title = given.title or report.title
    shown = frames.shown_as(report, given.columns, given.percent, given.labels, given.spread)
    report.labels = shown.labels
    if given.panels is not None or given.lines is not None:
        report.panels = panels.keys_asked_for(report, given.panels or "", given.lines)
    runs, groups = frames_of(report)

    def tables_as(shown):
        return tables_of(report, runs, groups, shown, given.baseline, given.table)

    on_page = shown.on_page()
    found = tables_as(on_page)
    out = given.out or given.folders[0]
    out.mkdir(parents=True, exist_ok=True)
    figures = [] if given.no_figures else draw(report, out / "figures")
    write(out / "report.html", page.render(report, (runs, groups), found, figures, on_page))
    if given.markdown:
        write(out / "tables.md", f"# {report.title}\n\n" + "\n\n".join(map(formats.to_markdown, found)) + "\n")
    if given.latex:
        write_latex(tables_as(shown.in_print()), shown, out / "latex")
    if given.tensorboard and not given.follow:
        exports.tensorboard(report, out / "tensorboard")
    if given.parquet:
        exports.parquet(report, runs, out / "parquet")
    if said := pairs.left_out_words(report, given.baseline):
        print(f"--baseline {given.baseline}: {said}", file=sys.stderr)
    print(f"{page.counted(len(report.runs), 'run')}: {out / 'report.html'}")


def main():
    given = arguments()
    try:
        if given.follow and not given.tensorboard:
            raise LoadError("--follow: says how --tensorboard is written; give both")
        write_report(given)
    except KeyboardInterrupt:
        return 130
    except LoadError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename}: {error.strerror}. --out names another folder for the report.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
