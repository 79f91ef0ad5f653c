"""report.html: one file that needs no other and no network."""
import re
from collections import Counter
from pathlib import Path

import jinja2
import markupsafe
import yaml

from report import formats, frames, tables
from report.figures import style
from report.figures.groups import label_in
from report.files import FileProblem, read_text
from report.load import flat
from report.run import STATUSES

HERE = Path(__file__).parent
THEME = {style.INK: "var(--ink)", style.PAPER: "var(--paper)", style.GRID: "var(--grid)", style.MUTED: "var(--muted)"}
PIXELS_AN_INCH = 115  # on the page: three narrow figures side by side at 1,400 pixels, their text nearly as large as the captions'
COLUMNS = 12          # of a table of differences, before it is turned into one of values
ENVIRONMENT = [("fedhive", "fedhive"), ("commit", "Commit"), ("libtorch", "LibTorch"), ("cpu_capability", "CPU capability"), ("cpu", "CPU"),
               ("cores", "Cores"), ("device", "Device"), ("cuda", "CUDA"), ("workers", "Workers"), ("threads", "Threads in each"),
               ("num_clients", "Clients"), ("num_parameters", "Values in the model"), ("data_fingerprint", "Data fingerprint"),
               ("layout_fingerprint", "Layout fingerprint"), ("resumed", "Resumed"), ("other_bits", "Resumed with other bits")]


def counted(number, word):
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def themed(text):
    """The figure's own ink and paper become those of the page's theme."""
    for colour, variable in THEME.items():
        text = text.replace(colour, variable)
    return text


def inline_svg(text, name, label):
    """An SVG document as an element of the page: no header, sizes left to the page, ids that are unique in it."""
    text = themed(text[text.index("<svg"):])
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    opening, rest = text.split(">", 1)
    opening = re.sub(r'\s(?:width|height|version|xmlns)="[^"]*"', "", opening)
    rest = re.sub(r"\n\s*", "\n", rest)
    return markupsafe.Markup(f'{opening} role="img" aria-label="{markupsafe.escape(label)}">{rest}')


def status_counts(runs):
    counts = Counter(run.status for run in runs)
    return [(status, counts[status]) for status in STATUSES if counts[status]]


def best_of(frame, name, measure):
    """(text, label) of the row with the best mean of that measure; None where there is no value."""
    known = frame[frame[measure.name].notna()]
    if known.empty:
        return None
    best = known.loc[known[measure.name].idxmax() if measure.better > 0 else known[measure.name].idxmin()]
    if f"{measure.name}_ci" not in frame:
        return measure.write(best[measure.name] * measure.scale), best[name]
    return f"{tables.interval_cell(best, measure).text} (n\u00a0=\u00a0{best[f'{measure.name}_n']})", best[name]


def best_lines(report, runs, groups, shown=frames.Shown()):
    """[(what, value, whose)] of the finished runs, by the best value of any round and by that of the last one; by groups where seeds
    repeat. Of a single run nobody needs to be told whose."""
    frame, name = (groups, "group") if groups is not None else (runs[runs["status"] == "finished"], "run")
    words = {"best_test_accuracy": "best test accuracy of any round", "final_test_accuracy": "best test accuracy after the last round",
             "best_test_mse": "lowest test MSE of any round", "final_test_mse": "lowest test MSE after the last round"}
    found, shown_names = [], {run.group: label_in(report, run, report.shown) for run in report.runs} if groups is not None else {}
    for one in frames.Shown(percent=shown.percent).measures():
        if one.name in words and (best := best_of(frame, name, one)):
            found.append((words[one.name], best[0] + (" %" if shown.percent else ""), shown_names.get(best[1], best[1]) if len(report.runs) > 1 else ""))
    return found[::-1]


def nested(leaves):
    result = {}
    for key, value in leaves.items():
        *sections, last = key.split(".")
        place = result
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = value
    return result


def leaves_of(config, prefix=""):
    for key, value in config.items():
        if isinstance(value, dict):
            yield from leaves_of(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def common_config(runs):
    """What all configs say alike, as YAML text; of a single run the page shows the config itself."""
    configs = [run.config for run in runs if run.config]
    if not configs or len(runs) == 1:
        return ""
    texts = [flat(config) for config in configs]
    alike = {key: value for key, value in leaves_of(configs[0]) if all(key in text and text[key] == texts[0][key] for text in texts)}
    return yaml.safe_dump(nested(alike), sort_keys=False, allow_unicode=True, width=100, default_flow_style=None) if alike else ""


def difference_table(report):
    """Key × run; with too many runs key × group, and with too many of these the values of each key. None where nothing differs."""
    runs = [run for run in report.runs if run.config]
    configs = {run.label: flat(run.config) for run in runs}
    keys = dict.fromkeys(key for config in configs.values() for key in config)
    keys = [key for key in keys if len({config.get(key, "") for config in configs.values()}) > 1]
    if not keys:
        return None
    groups = {}
    for run in runs:
        groups.setdefault(run.group, []).append(run.label)
    parts = {run.label: [run.label] for run in runs} if len(runs) <= COLUMNS else groups
    if len(parts) > COLUMNS:
        rows = []
        for key in keys:
            counts = Counter(config.get(key, "") for config in configs.values())
            shown = [f"{value or tables.NOTHING} ({counted(count, 'run')})" for value, count in counts.most_common(10)]
            rest = f" and {len(counts) - 10} more values" if len(counts) > 10 else ""
            rows.append([tables.Cell(key, key), tables.setting_cell(", ".join(shown) + rest)])
        return tables.Table("differences", "Differences", "", [("Key", "", False), ("Values", "and how many runs have each", False)], rows)
    rows = []
    for key in keys:
        found = [list(dict.fromkeys(configs[label].get(key, "") for label in labels)) for labels in parts.values()]
        rows.append([tables.Cell(key, key), *(tables.setting_cell(", ".join(value or tables.NOTHING for value in values)) for values in found)])
    return tables.Table("differences", "Differences", "", [("Key", "", False), *((part, "", False) for part in parts)], rows)


def environment(runs):
    """(what, [values with how many runs had each]); a value that differs between runs is worth a look."""
    found = []
    for key, title in ENVIRONMENT:
        values = [run.manifest[key] for run in runs if key in run.manifest]
        texts = Counter(", ".join(map(str, value)) or "no" if isinstance(value, list) else str(value) for value in values)
        if texts:
            shown = [text if len(texts) == 1 else f"{text} ({counted(count, 'run')})" for text, count in texts.most_common()]
            found.append((title, ", ".join(shown)))
    return found


def left_out(run):
    """Of a run that an older version wrote: what cannot be shown for it, and why."""
    if len(run.clients) and "started_s" not in run.clients.columns:
        yield "clients.csv has no column started_s, as an older version wrote it: no timeline"
    if len(run.clients) and run.partition.empty:
        yield "no partition.csv, as an older version wrote it: the labels of its clients are not shown"


def problems(report):
    """(what is wrong, whether it is more than a note, labels of the runs it concerns)."""
    found = {}
    for run in report.runs:
        if run.status in ("failed", "killed", "damaged"):
            found.setdefault((f"{run.status}: {run.reason or 'no reason is known'}", True), []).append(run.label)
        for text in run.problems:
            found.setdefault((text, True), []).append(run.label)
        for text in left_out(run):
            found.setdefault((text, False), []).append(run.label)
    return [(text, serious, labels) for (text, serious), labels in sorted(found.items(), key=lambda item: not item[0][1])]


def config_text(run):
    try:
        return read_text(run.path / "config.yaml", errors="replace")
    except (FileNotFoundError, FileProblem):
        return yaml.safe_dump(run.config, sort_keys=False) if run.config else ""


def render(report, shown_frames, shown_tables, figures, shown=frames.Shown()):
    """The page. `figures`: (drawing's name, title, caption, SVG text, width in inches)."""
    environment_of_page = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True,
                                             undefined=jinja2.StrictUndefined)
    own = {name: markupsafe.Markup((HERE / name).read_text(encoding="utf-8")) for name in ("style.css", "table.js")}
    drawn = [{"name": name, "title": title, "caption": caption, "svg": inline_svg(svg, name, title), "width": round(width * PIXELS_AN_INCH)}
             for name, title, caption, svg, width in figures]
    return environment_of_page.get_template("page.html.jinja").render(
        report=report, css=own["style.css"], js=own["table.js"], figures=drawn, counts=status_counts(report.runs), counted=counted,
        best=best_lines(report, *shown_frames, shown), results=[table for table in shown_tables if table.name != "failures"],
        failures=next((table for table in shown_tables if table.name == "failures"), None), common=common_config(report.runs),
        differences=difference_table(report), environment=environment(report.runs), problems=problems(report), config_text=config_text,
        full_heads=formats.full_heads, zip=zip)
