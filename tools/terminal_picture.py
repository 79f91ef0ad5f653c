"""Draws a terminal: reads the output of a command from standard input and writes an SVG to standard output.

usage: COMMAND | python3 tools/terminal_picture.py TITLE 'COMMAND'

Text keeps its columns in any font; bars (▁ to █) are drawn.
"""
import html
import re
import sys

CELL, LINE, LEFT, TOP, BELOW = 8, 18, 18, 48, 24
BARS = "▁▂▃▄▅▆▇█"


def words(line, number, style=""):
    """Each run of words without two blanks in a row, in its column; bars are left to bars()."""
    y = TOP + number * LINE
    blank = re.sub(f"[{BARS}](?=[{BARS}|]|$)|(?<=[|])[{BARS}]", " ", line)
    for found in re.finditer(r"\S+(?: \S+)*", blank):
        text = found.group()
        yield (f'<text x="{LEFT + found.start() * CELL}" y="{y}" textLength="{len(text) * CELL}" '
               f'lengthAdjust="spacingAndGlyphs"{style}>{html.escape(text)}</text>')


def bars(line, number):
    for column, glyph in enumerate(line):
        if glyph in BARS:
            height = 1.6 * (BARS.index(glyph) + 1)
            bottom = TOP + number * LINE + 2.5
            yield f'<rect x="{LEFT + column * CELL}" y="{bottom - height:.1f}" width="{CELL - 1}" height="{height:.1f}"/>'


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    title, command = sys.argv[1:]
    lines = [line.rstrip() for line in sys.stdin.read().rstrip("\n").split("\n")]
    width = 2 * LEFT + CELL * max(map(len, [*lines, command]))
    height = TOP + LINE * len(lines) + BELOW
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"\n role="img" aria-labelledby="t">')
    print(f'<title id="t">{html.escape(title)}</title>')
    print(f'<rect width="{width}" height="{height}" rx="8" fill="#161b22" stroke="#484f58"/>')
    print("".join(f'<circle cx="{x}" cy="18" r="5" fill="#484f58"/>' for x in (20, 38, 56)))
    print('<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13.3" fill="#d0d7de" xml:space="preserve">')
    print("\n".join(words("$", 0, ' fill="#8b949e"')))
    print("\n".join(words("  " + command, 0, ' font-weight="bold" fill="#f0f6fc"')))
    for number, line in enumerate(lines, 1):
        print("".join(f"{text}\n" for text in words(line, number)), end="")
    drawn = "".join(rect for number, line in enumerate(lines, 1) for rect in bars(line, number))
    print(f'<g fill="#d0d7de">{drawn}</g>\n</g>\n</svg>')


if __name__ == "__main__":
    main()
