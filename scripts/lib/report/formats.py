"""Tables for other documents: Markdown, and LaTeX as one tabular a file."""
ESCAPED = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
           "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": r"$-$", "–": "--", "…": r"\ldots{}"}


def to_markdown(table):
    def line(cells):
        return "| " + " | ".join(str(cell).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
    marks = ["---:" if numeric else "---" for *_, numeric in table.heads]
    lines = [f"## {table.title}", *([table.note] if table.note else []), ""]
    return "\n\n".join(lines[:-1]) + "\n\n" + "\n".join(
        [line(title for title, *_ in table.heads), "|" + "|".join(marks) + "|",
         *(line(f"**{cell.text}**" if cell.strong else cell.text for cell in row) for row in table.rows)])


def to_latex(table, formulas=()):
    """A tabular of booktabs; `\\usepackage{booktabs}` and `\\input` of the file are all it needs. `formulas`: texts that are LaTeX already."""
    def in_latex(text):
        return text if text in formulas else "".join(ESCAPED.get(letter, letter) for letter in text.replace("\n", " "))

    def line(cells):
        return " & ".join(cells) + r" \\"
    form = "".join("r" if numeric else "l" for *_, numeric in table.heads)
    rows = [line(rf"\textbf{{{in_latex(cell.text)}}}" if cell.strong else in_latex(cell.text) for cell in row) for row in table.rows]
    note = f"% {table.title}" + (f". {table.note}" if table.note else "")
    return "\n".join([note, rf"\begin{{tabular}}{{{form}}}", r"\toprule", line(in_latex(title) for title, *_ in table.heads), r"\midrule",
                      *rows, r"\bottomrule", r"\end{tabular}"]) + "\n"
