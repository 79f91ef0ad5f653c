"""The table of a paper: the values of one key down, those of another one across, a mean with its spread in each cell."""
from report.figures.groups import finite, sorted_values, weights_note
from report.load import LoadError, short_keys
from report.metric import metric_of_runs
from report.tables import NOTHING, SPREADS, Cell, Table, setting_cell


def keys_asked_for(report, texts):
    """([keys of the rows], key of the columns) of `rows=KEY[,KEY…]` and `columns=KEY`; LoadError where they name nothing."""
    asked = dict(text.split("=", 1) for text in texts)
    if set(asked) != {"rows", "columns"}:
        raise LoadError("--table: wants rows=KEY and columns=KEY, such as --table rows=case columns=data.partition.alpha")
    found = {}
    for place, names in asked.items():
        found[place] = [report.axis_of(name) for name in names.split(",")]
        if None in found[place] or (place == "columns" and len(found[place]) > 1):
            raise LoadError(f"--table {place}={names}: wants {'one of' if place == 'columns' else 'some of'} the varied keys: {report.axes_in_words()}")
    if set(found["rows"]) & set(found["columns"]):
        raise LoadError(f"--table: {asked['columns']} cannot be both rows and columns")
    return found["rows"], found["columns"][0]


def only_one(report, rows, column, members):
    """The group of a cell; LoadError where there are several, whose mean would be of nothing in particular."""
    if len(members) > 1:
        names = short_keys(report.axes)
        differ = [key for key in report.axes if len({member.get(key, "") for member in members}) > 1]
        raise LoadError(f"--table: {len(members)} settings have " + ", ".join(f"{names[key]}={members[0].get(key, '')}" for key in [*rows, column]) +
                        f"; they differ in {', '.join(names[key] for key in differ)}. Name these keys too, as in --table "
                        f"rows={','.join(names[key] for key in [*rows, *differ])} columns={names[column]}, or give the folders of the runs that belong into the table.")
    return members[0] if members else None


def spread_cell(record, one, spread, most):
    if record is None or record[f"{one.name}_n"] == 0:
        return Cell(NOTHING)
    mean, wide, n = (record[f"{one.name}{end}"] for end in ("", f"_{spread}", "_n"))
    text = one.write(mean * one.scale) + (f" ± {one.write(wide * one.scale)}" if n > 1 else "")
    return Cell(text + (f" (n = {n})" if n != most else ""), float(mean))


def mark_best(one, column):
    """(record, cell) of one column: the best mean, and those that look the same. A mean of some finished runs only is no mean of the setting."""
    known = [cell for record, cell in column if record is not None and record[f"{one.name}_n"] == record["finished"] > 0]
    if one.better == 0 or len(known) < 2:
        return
    best = one.write(max((one.better * cell.value, cell.value) for cell in known)[1] * one.scale)
    if len({one.write(cell.value * one.scale) for cell in known}) > 1:
        for cell in known:
            cell.strong = one.write(cell.value * one.scale) == best


def paper_tables(report, groups, shown, asked):
    """A table for each of the columns of numbers that are asked for, by default one of the final metric. `groups`: frames.group_frame."""
    rows, column = keys_asked_for(report, asked)
    records, names, spread = groups.to_dict("records"), short_keys(report.axes), shown.spread or "std"
    final = f"final_{metric_of_runs(report.runs).column}"
    measures = [one for one in shown.measures() if (one.name == final if not shown.chosen else len(finite(groups[one.name])))]
    across = sorted_values(str(record.get(column, "")) for record in records)
    down = list(dict.fromkeys(tuple(record.get(key, "") for key in rows) for record in records))
    if len(rows) == 1:
        down = [(text,) for text in sorted_values(text for text, in down)]
    cells = {(row, text): only_one(report, rows, column, [record for record in records if record.get(column, "") == text and
                                                         tuple(record.get(key, "") for key in rows) == row])
             for row in down for text in across}
    return [one_table(report, one, (rows, column), (down, across), cells, spread, shown, names, alone=len(measures) == 1) for one in measures]


def one_table(report, one, keys, places, records, spread, shown, names, alone):
    (rows, column), (down, across) = keys, places
    counts = sorted({record[f"{one.name}_n"] for record in records.values() if record is not None and record[f"{one.name}_n"]})
    most = counts[-1] if counts else 0
    cells = {place: spread_cell(record, one, spread, most) for place, record in records.items()}
    for text in across:
        mark_best(one, [(records[row, text], cells[row, text]) for row in down])
    heads = [*((shown.label(key, names[key]), key, False) for key in rows), *((shown.label(text) or NOTHING, f"{names[column]}={text}", True) for text in across)]
    lines = [[*(setting_cell(text, shown) for text in row), *(cells[row, text] for text in across)] for row in down]
    over = f"mean ± {SPREADS[spread]} over n = {most} finished runs, which differ in their seeds only" if most > 1 else "of one finished run each"
    note = f"{one.title} ({one.meaning}): {over}. Bold: the best of its column."
    down_words = " and ".join(shown.label(key, names[key]) for key in rows)
    return Table("table" if alone else f"table_{one.name}", f"{one.title} by {down_words} and {shown.label(column, names[column])}", note, heads, lines,
                 foot=weights_note(report, shown.label), above=shown.label(column, names[column]))
