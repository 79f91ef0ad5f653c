"""Measured figures in Markdown against the files they come from: tools/check figures, and --write to renew them. CONTRIBUTING.md shows both
forms, a figure in a sentence and a whole table; both are comments, which a reader of the page does not see.

Paths are relative to the root. A spec is that path and words NAME=VALUE (quotes keep blanks):

  of a CSV file    COLUMN=VALUE chooses rows, column= says which value; of=max, min, largest (of either sign), mean or count of several
  of a JSON file   key= is a dotted path, or a sum a+b of paths; a map stands for the sum of its values
  of both          format= is a format specification of Python's, such as .2f or .0%; scale= multiplies before
"""
import csv
import json
import re
import shlex
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

AGES = "results/figures.yaml"
FIGURE = re.compile(r"<!-- figure: (?P<spec>[^\n]*?) -->(?P<shown>[^\n]*?)<!-- /figure -->")
TABLE = re.compile(r"<!-- table: (?P<spec>[^\n]*)\n(?P<lines>(?:(?!-->).)*?)-->\n(?P<shown>(?:(?!<!-- ).)*?)<!-- /table -->", re.DOTALL)
ROWS = re.compile(r"^\|(?:[^\n]*\n\|)*[^\n]*\n", re.MULTILINE)  # of a table
MARK = re.compile(r"<!-- (?:/?figure|/?table)\b")
OWN = ("column", "key", "of", "format", "scale")
OF = {"max": max, "min": min, "largest": lambda values: max(map(abs, values)), "mean": lambda values: sum(values) / len(values), "count": len}


class FigureError(Exception):
    """A mark that cannot be followed, and why."""


class Warned(str):
    """A finding that fails no check."""


@dataclass
class Marked:
    """A place in a document that a file fills."""
    file: str     # the figure's source
    start: int    # of what is shown
    shown: str
    wanted: str


def without_code(text):
    """The same text with what stands in code blanked, letter by letter: a mark shown as an example is none."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    text = re.sub(r"^( *)(```|~~~).*?^\1? *\2", blank, text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"(`+)(?!`)[^\n]+?\1", blank, text)


def spec_of(text):
    """(path, {name: value}) of "results/x.csv mode=async column=accuracy"."""
    try:
        path, *words = shlex.split(text)
    except ValueError as error:
        raise FigureError(str(error)) from None
    pairs = [word.partition("=") for word in words]
    if wrong := [name for name, sign, _ in pairs if not sign]:
        raise FigureError(f"'{wrong[0]}' is not NAME=VALUE")
    return path, {name: value for name, _, value in pairs}


def number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def written(value, given):
    """As it stands in its file, where nothing else is asked for."""
    if "format" not in given and "scale" not in given:
        return str(value)
    value = number(value)
    if isinstance(value, float):
        value *= float(given.get("scale", 1))
    form = given.get("format", "")
    try:
        return format(int(value) if form.endswith("d") and isinstance(value, float) else value, form)
    except (TypeError, ValueError) as error:
        raise FigureError(f"format={form} of {value!r}: {error}") from None


def rows_of(root, path):
    try:
        with open(root / path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise FigureError(f"{path}: {error.strerror}") from None


def chosen(rows, path, given):
    """The rows in which all filters hold."""
    filters = {name: value for name, value in given.items() if name not in OWN}
    for name in filters:
        if rows and name not in rows[0]:
            raise FigureError(f"{path} has no column {name}; it has {', '.join(rows[0])}")
    return [row for row in rows if all(row[name] == value for name, value in filters.items())]


def from_csv(root, path, given):
    rows, column = rows_of(root, path), given.get("column", "")
    if rows and column not in rows[0] and given.get("of") != "count":
        raise FigureError(f"{path} has no column '{column}'; column= wants one of {', '.join(rows[0])}")
    found = chosen(rows, path, given)
    if "of" in given:
        if given["of"] not in OF:
            raise FigureError(f"of={given['of']}: allowed: {', '.join(OF)}")
        values = [number(row.get(column)) for row in found if given["of"] == "count" or row[column] != ""]
        if not values:
            raise FigureError(f"no row of {path} is meant")
        return OF[given["of"]](values)
    if len(found) != 1:
        raise FigureError(f"{len(found)} rows of {path} are meant, and not one")
    return found[0][column]


def total(value):
    return sum(map(total, value.values())) if isinstance(value, dict) else value


def from_json(root, path, given):
    try:
        content = json.loads((root / path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FigureError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise FigureError(f"{path}: {error}") from None
    values = []
    for term in given.get("key", "").split("+"):
        value = content
        for word in term.split("."):
            if not isinstance(value, dict) or word not in value:
                raise FigureError(f"{path} has no key {term!r}")
            value = value[word]
        values.append(total(value))
    return values[0] if len(values) == 1 else sum(values)


def figure(root, spec):
    """(file, text) of a figure in a sentence."""
    path, given = spec_of(spec)
    return path, written((from_json if path.endswith(".json") else from_csv)(root, path, given), given)


def means_of(rows, words, path):
    """From "case, strategy": a row for each pair of values that occurs, in order; every other column is the mean of its numbers, and NAME_deviation their
    standard deviation (n - 1). Columns with another text are left out, and cells without a number are skipped."""
    keys = [word.strip() for word in words.split(",")]
    if rows and not set(keys) <= set(rows[0]):
        raise FigureError(f"means: {words}: {path} has {', '.join(rows[0])}")
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    made = []
    for group in groups.values():
        one = {key: group[0][key] for key in keys}
        for column in set(group[0]) - set(keys):
            values = [number(row[column]) for row in group if row[column] != ""]
            if all(isinstance(value, float) for value in values):
                one[column] = repr(statistics.fmean(values)) if values else ""
                one[f"{column}_deviation"] = repr(statistics.stdev(values)) if len(values) > 1 else ""
        made.append(one)
    return made


def pivoted(rows, words, path):
    """From "workload, side, median": a row for each workload, with a column for each side. In the last one's place may stand a form of several,
    "{median:.2f} ({lowest:.2f}–{highest:.2f})": then the cells are texts, written as it says."""
    names = [word.strip() for word in words.split(",", 2)]
    form = names.pop() if names[2:] and "{" in names[2] else ""
    if len(names) != (2 if form else 3) or (rows and not set(names) <= set(rows[0])):
        raise FigureError(f"pivot: {words}: wants three columns of {path}: of the rows, of the columns, of the values (or a form of several)")
    key, across = names[:2]
    found = {}
    for row in rows:
        found.setdefault(row[key], {key: row[key]})[row[across]] = filled(form, row, list(row), {}) if form else row[names[2]]
    return list(found.values())


def filled(form, row, columns, names):
    """"{a:.2f} ± {b:.2f}" with the row's values; a name may be cut short where that is clear. Without a value the cell is a dash."""
    missing = []

    def value_of(match):
        name, form_of_one = match.group(1), match.group(2) or ""
        full = [name] if name in columns else [column for column in columns if column.startswith(name)]
        if len(full) != 1:
            raise FigureError(f"{{{name}}} names {len(full)} columns; there are {', '.join(columns)}")
        text = row.get(full[0], "")
        missing.append(text == "")
        return names.get(text, text) if not form_of_one else "" if text == "" else written(text, {"format": form_of_one})

    cell = re.sub(r"\{([^{}:]+)(?::([^{}]*))?\}", value_of, form)
    return "–" if missing and all(missing) else re.sub(r" ± *$", "", cell)  # of one run there is no deviation


def table(root, spec, lines):
    """(file, text) of a table. Its lines: `means: A, B` (over all rows with the same A and B), `pivot: A, B, C` (C a column or a form), `rows: COLUMN = value, value …` in that order, `name: value = what is shown`,
    and, for each column, `column: TITLE = {name:format}`."""
    path, given = spec_of(spec)
    rows, names, columns, order = chosen(rows_of(root, path), path, given), {}, [], None
    for line in filter(None, map(str.strip, lines.splitlines())):
        what, _, rest = line.partition(": ")
        left, sign, right = (part.strip() for part in rest.partition(" = "))
        if what == "means":
            rows = means_of(rows, rest, path)
        elif what == "pivot":
            rows = pivoted(rows, rest, path)
        elif what in ("rows", "name", "column") and sign:
            if what == "rows":
                order = (left, [value.strip() for value in right.split(",")])
            elif what == "name":
                names[left] = right
            else:
                columns.append((left, right))
        else:
            raise FigureError(f"'{line}': wants means: A, B; pivot: A, B, C; rows: COLUMN = values; name: VALUE = text; or column: TITLE = {{name}}")
    if order:
        rows = [one_row(rows, path, order[0], value) for value in order[1]]
    known = list(dict.fromkeys(name for row in rows for name in row))
    body = [[filled(form, row, known, names) for _, form in columns] for row in rows]
    cells = [[title for title, _ in columns], ["---"] * len(columns), *body]
    return path, "".join("| " + " | ".join(row) + " |\n" if row[0] != "---" else "|" + "|".join(row) + "|\n" for row in cells)


def one_row(rows, path, column, value):
    found = [row for row in rows if row.get(column) == value]
    if len(found) != 1:
        raise FigureError(f"{len(found)} rows of {path} have {column} = {value}, and not one")
    return found[0]


def marked_in(root, text):
    """(Marked of each place, [(position, what is wrong)])."""
    clear, found, wrong, seen = without_code(text), [], [], set()
    for pattern in (FIGURE, TABLE):
        for match in pattern.finditer(clear):
            seen |= {match.start(), match.end() - len("<!-- /figure -->" if pattern is FIGURE else "<!-- /table -->")}
            start, end = match.span("shown")
            spec = text[slice(*match.span("spec"))]
            try:
                file, wanted = figure(root, spec) if pattern is FIGURE else table(root, spec, text[slice(*match.span("lines"))])
            except FigureError as error:
                wrong.append((match.start(), str(error)))
                continue
            found.append(Marked(file, start, text[start:end], wanted))
    wrong += [(mark.start(), "has no other half, or another mark inside") for mark in MARK.finditer(clear) if mark.start() not in seen]
    return found, wrong


def renewed(text, marks):
    for mark in sorted(marks, key=lambda mark: -mark.start):
        text = text[:mark.start] + mark.wanted + text[mark.start + len(mark.shown):]
    return text


def code_of(root):
    """{start of a figure file's path: [paths of the code it speaks of]} of results/figures.yaml, which has a line each. `!PATH` is left out of the
    others; what speaks of commits that it names itself, and of no later one, has no paths."""
    found = {}
    if not (root / AGES).is_file():
        return found
    for number_of_line, line in enumerate((root / AGES).read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\S+): \[(.*)\]", line)
        if not match:
            raise FigureError(f"{AGES}:{number_of_line}: '{line}': wants FILE: [PATH, PATH]")
        found[match.group(1)] = [path.strip() for path in match.group(2).split(",") if path.strip()]
    return found


def manifest_of(root, file):
    """The manifest of the file's folder, or of the nearest folder above it."""
    for folder in (root / file).parents:
        if (folder / "manifest.json").is_file():
            return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        if folder == root:
            break
    return {}


def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)


def commit_of(manifest):
    return str(manifest.get("commit", "")).removesuffix("-dirty")


def dirty(manifest):
    """Whether what was measured is in no commit."""
    return bool(manifest.get("dirty")) or str(manifest.get("commit", "")).endswith("-dirty")


def age_of(root, file, code):
    """What there is to warn of: code that changed since the file was measured, or a part of it was found to be the same, or that was no commit's
    even then; "" where there is nothing."""
    manifest = manifest_of(root, file)
    measured, told = manifest, "measured"
    verified = manifest.get("verified", {})
    if commit_of(verified) and git(root, "merge-base", "--is-ancestor", commit_of(measured), commit_of(verified)).returncode == 0:
        measured, told = verified, "a part of it was last the same"
    commit = commit_of(measured)
    at = f"{file}: {told} at {commit}" + (" with changes that are in no commit" if dirty(measured) else "")
    paths = manifest.get("paths") or next((paths for start, paths in code.items() if file.startswith(start)), None)
    if commit and paths == []:
        return ""
    if not commit or not paths:
        return f"{file}: no manifest says at which commit it was measured" if not commit else f"{file}: {AGES} does not say which code it measures"
    ran = git(root, "log", "--format=%h", f"{commit}..HEAD", "--", *(re.sub("^!", ":(exclude)", path) for path in paths))
    if ran.returncode:
        return f"{at}, which is not in this history"
    later = ran.stdout.split()
    since = f"; since then {len(later)} commit{'s' if len(later) > 1 else ''} changed {', '.join(paths)}" if later else ""
    again = f"; again with: {' && '.join(manifest['commands'])}" if len(manifest.get("commands", [])) in (1, 2) else ""
    return f"{at}{since}{again}" if since or dirty(measured) else ""


def unmarked(root, files):
    """The manifests of measurements from which no document takes a figure by a mark: their own tables may be as old."""
    ran = git(root, "ls-files", "results/**/manifest.json")
    folders = [name.removesuffix("manifest.json") for name in ran.stdout.split()]
    return [f"{folder}manifest.json" for folder in folders if not any(file.startswith(folder) for file in files)]


def quotes(root, write):
    """A table of README.md whose first row is that of a table in docs/figures.md has to have all its rows: README.md shows no marks."""
    readme, page = root / "README.md", root / "docs/figures.md"
    if not page.is_file() or not readme.is_file():
        return []
    known = {rows.split("\n", 1)[0]: rows for rows in ROWS.findall(page.read_text(encoding="utf-8"))}
    text = readme.read_text(encoding="utf-8")
    quoted = [match for match in ROWS.finditer(text) if match.group(0).split("\n", 1)[0] in known]
    if not quoted:
        return ["README.md: quotes no table of docs/figures.md"]
    stale = [match for match in quoted if known[match.group(0).split("\n", 1)[0]] != match.group(0)]
    if write and stale:
        for match in reversed(stale):
            text = text[:match.start()] + known[match.group(0).split("\n", 1)[0]] + text[match.end():]
        readme.write_text(text, encoding="utf-8")
        return []
    return [f"README.md:{text.count(chr(10), 0, match.start()) + 1}: this table is another in docs/figures.md; tools/check figures --write"
            for match in stale]


def check(root, documents, write=False):
    """Findings of tools/check: figures that are not those of their files, marks that cannot be followed, and, as Warned, figures that are
    older than the code they speak of. `documents`: Markdown files, relative to the root; `write` renews the figures in them."""
    root, found, files = Path(root), [], []
    for name in documents:
        text = (root / name).read_text(encoding="utf-8")
        marks, wrong = marked_in(root, text)
        files += [mark.file for mark in marks]
        found += [f"{name}:{text.count(chr(10), 0, position) + 1}: {what}" for position, what in wrong]
        stale = [mark for mark in marks if mark.shown != mark.wanted]
        if write and stale:
            (root / name).write_text(renewed(text, stale), encoding="utf-8")
            continue
        for mark in stale:
            shown, wanted = (" / ".join(part.split("\n")) for part in (mark.shown, mark.wanted))
            found.append(f"{name}:{text.count(chr(10), 0, mark.start) + 1}: shows {shown}, but {mark.file} says {wanted}; "
                         "tools/check figures --write")
    found += quotes(root, write)
    try:
        code = code_of(root)
    except FigureError as error:
        return [*found, str(error)]
    ages = (age_of(root, file, code) for file in [*dict.fromkeys(files), *unmarked(root, files)])
    return [*found, *(Warned(age) for age in ages if age)]
