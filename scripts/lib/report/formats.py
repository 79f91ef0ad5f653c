"""Tables for other documents: Markdown, and LaTeX as one tabular a file."""
import re

from report.figures.style import broken

PRINTED = 100  # letters in a line below a table on paper

ESCAPED = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
           "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": r"$-$", "–": "--", "…": r"\ldots{}"}


def full_heads(table):
    """Titles of the columns where there is one row of them: alpha = 0.1."""
    return [f"{table.above} = {title}" if table.above and numeric else title for title, _, numeric in table.heads]


def to_markdown(table):
    def line(cells):
        return "| " + " | ".join(str(cell).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
    marks = ["---:" if numeric else "---" for *_, numeric in table.heads]
    lines = [f"## {table.title}", *filter(None, (table.note, table.foot)), ""]
    return "\n\n".join(lines[:-1]) + "\n\n" + "\n".join(
        [line(full_heads(table)), "|" + "|".join(marks) + "|",
         *(line(f"**{cell.text}**" if cell.strong else cell.text for cell in row) for row in table.rows)])


def to_latex(table, formulas=()):
    """A tabular of booktabs; `\\usepackage{booktabs}` and `\\input` of the file are all it needs. `formulas`: texts that are LaTeX already."""
    known = re.compile("|".join(map(re.escape, sorted(formulas, key=len, reverse=True))) or r"(?!)")

    def in_latex(text):
        ends = [0, *(end for match in known.finditer(text) for end in match.span()), len(text)]
        pieces = [text[begin:end] for begin, end in zip(ends, ends[1:])]  # every second one is a formula
        return "".join(piece if number % 2 else "".join(ESCAPED.get(letter, letter) for letter in piece.replace("\n", " "))
                       for number, piece in enumerate(pieces))

    def line(cells):
        return " & ".join(cells) + r" \\"
    form = "".join("r" if numeric else "l" for *_, numeric in table.heads)
    rows = [line(rf"\textbf{{{in_latex(cell.text)}}}" if cell.strong else in_latex(cell.text) for cell in row) for row in table.rows]
    note = f"% {table.title}" + (f". {table.note}" if table.note else "")
    first = form.count("l")
    above = [line([""] * first + [rf"\multicolumn{{{len(form) - first}}}{{c}}{{{in_latex(table.above)}}}"]),
             rf"\cmidrule(lr){{{first + 1}-{len(form)}}}"] if table.above else []
    # In a box without width: a text longer than the table would stretch its last column.
    foot = [rf"\multicolumn{{{len(form)}}}{{l}}{{\makebox[0pt][l]{{\footnotesize {in_latex(text)}}}}} \\"
            for text in broken(table.foot, lambda line: len(line) <= PRINTED).split("\n") if text]
    return "\n".join([note.replace("\n", " "), rf"\begin{{tabular}}{{{form}}}", r"\toprule", *above, line(in_latex(title) for title, *_ in table.heads),
                      r"\midrule", *rows, r"\bottomrule", *foot, r"\end{tabular}"]) + "\n"
