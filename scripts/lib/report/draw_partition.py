"""Draws a partition.csv; scripts/report --partition calls this.

usage: python3 -m report.draw_partition CSV FILE     FILE ends in .svg, .png or .pdf
"""
import sys
from pathlib import Path

import pandas

from report.figures import partition, style


def main(table, file):
    with style.rc():
        figure, text = partition.figure_of(pandas.read_csv(table, dtype={"owner": str}))
    try:
        if file.suffix == ".svg":
            file.write_text(style.svg_text(figure), encoding="utf-8")
        else:
            style.save(figure, file, dpi=200)
    except OSError as problem:
        sys.exit(f"scripts/report: {file} cannot be written: {problem.strerror}")
    print(f"drawn: {file} ({text})")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
