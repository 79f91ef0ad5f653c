"""Where a local step of the direct engine goes: `fedhive bench --layers CONFIG`.

A program of its own (tests/bench/layers/layer_speed.cpp) measures; here is the table: layers of a kind and shape in one row, how long each pass
takes, how many GFLOP/s that is if all products were made, what share of the core's multiply-adds, and LibTorch's time for the same layers.
"""
import argparse
import csv
import json
import shlex
import sys
from pathlib import Path

from bench import machine, measure

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 20
PASSES = ("forward", "data_gradient", "weight_gradient")
TITLES = {"forward": "forward", "data_gradient": "data gradient", "weight_gradient": "weight gradient"}
# A row is a group of layers, or what stands below them: a part of the step that belongs to no layer, their sum, and the step as it was measured.
HEADER = ("layers", "count", *(f"{one}_{figure}" for one in PASSES for figure in ("ms", "gflops", "of_peak")), *(f"libtorch_{one}_ms" for one in PASSES), "ms",
          "of_step")


def name_of(layer):
    parts = layer["layers"]
    if not parts:
        return "values into another order"
    return f"{', '.join(part['kind'] for part in parts)}: {parts[0]['in']} to {parts[-1]['out']}"


def grouped(layers):
    """Equal layers together, where the first of them stands: [(name, [layer])]."""
    groups = {}
    for layer in layers:
        groups.setdefault((name_of(layer), layer["input_gradient"], *layer["products"].values()), []).append(layer)
    return [(name, group) for (name, *_), group in groups.items()]


def _sum(group, key):
    """None where one of them has no such figure."""
    values = [layer[key] for layer in group]
    return None if None in values else sum(values)


def row_of(name, group, found):
    """Of equal layers, all figures for all of them together."""
    row = {"layers": name, "count": len(group)}
    for one in PASSES:
        seconds = _sum(group, f"{one}_s")
        row[f"{one}_ms"] = 1e3 * seconds
        flops = 2.0 * found["batch_size"] * sum(layer["products"][one] for layer in group)
        made = flops > 0 and seconds > 0
        row[f"{one}_gflops"] = 1e-9 * flops / seconds if made else None
        row[f"{one}_of_peak"] = flops / seconds / found["peak_flops"] if made else None
        libtorch = _sum(group, f"libtorch_{one}_s")
        row[f"libtorch_{one}_ms"] = None if libtorch is None else 1e3 * libtorch
    row["ms"] = sum(row[f"{one}_ms"] for one in PASSES)
    return row


def step_flops(found):
    """FLOPs of a step that skips no product."""
    return sum(2.0 * found["batch_size"] * sum(layer["products"].values()) for layer in found["layers"])


def rows_of(found):
    rows = [row_of(name, group, found) for name, group in grouped(found["layers"])]
    rows += [{"layers": name, "ms": 1e3 * found[key]} for name, key in (("loss", "loss_s"), ("optimizer", "optimizer_s"), ("gathering and the rest", "rest_s"))]
    rows.append({"layers": "sum", "ms": sum(row["ms"] for row in rows)})
    rows.append({"layers": "step", "ms": 1e3 * found["step_s"]})
    for row in rows:
        row["of_step"] = row["ms"] / (1e3 * found["step_s"])
    return rows


def summary_of(found):
    """The text below the table and in manifest.json."""
    return {"peak_gflops": 1e-9 * found["peak_flops"], "step_ms": 1e3 * found["step_s"], "libtorch_step_ms": 1e3 * found["libtorch_step_s"],
            "step_gflops": 1e-9 * step_flops(found) / found["step_s"], "of_peak": step_flops(found) / found["step_s"] / found["peak_flops"],
            "ratio": found["libtorch_step_s"] / found["step_s"]}


def _cells(row):
    def shown(key, form):
        value = row.get(key)
        return "–" if value is None else format(value, form)
    cells = [f"{row['count']} × {row['layers']}" if row.get("count", 1) > 1 else row["layers"]]
    if "count" not in row:
        return [*cells, *[""] * 12, f"{row['ms']:.3f}", f"{row['of_step']:.0%}"]
    for one in PASSES:
        cells += [shown(f"{one}_ms", ".3f"), shown(f"{one}_gflops", ".0f"), shown(f"{one}_of_peak", ".0%")]
    return [*cells, *(shown(f"libtorch_{one}_ms", ".3f") for one in PASSES), f"{row['ms']:.3f}", f"{row['of_step']:.0%}"]


def table(found):
    """For a terminal: numbers to the right."""
    first = ["", *(cell for one in PASSES for cell in (TITLES[one], "", "")), "by LibTorch", "", "", "all", "of the"]
    second = ["", *["ms", "GFLOP/s", "peak"] * 3, "forward", "data", "weight", "ms", "step"]
    lines = [second, *map(_cells, rows_of(found))]
    widths = [max(map(len, column)) for column in zip(*lines)]
    head = first[0].ljust(widths[0])
    for i in range(1, len(first), 3):
        part = slice(i, min(i + 3, len(first)))
        head += "  " + "  ".join(cell for cell in first[part] if cell).center(sum(widths[part]) + 2 * (len(widths[part]) - 1))
    texts = ["  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]) for line in lines]
    return "\n".join(text.rstrip() for text in [head, *texts])


def write(folder, found, manifest):
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "layers.csv", "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(HEADER)
        for row in rows_of(found):
            writer.writerow("" if row.get(key) is None else row[key] if isinstance(row[key], (str, int)) else f"{row[key]:.6g}" for key in HEADER)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def command_of(config, given):
    return shlex.join(["fedhive", "bench", "--layers", str(config), *(part for one in given.set for part in ("--set", one))])


def main(config: Path, given: argparse.Namespace) -> int:
    program = machine.probe(given.build / "fedhive", "cpu")
    try:
        lines, *_ = measure.run([given.build / "layer_speed", config, "1" if given.quick else str(SECONDS), *given.set])
    except measure.Failed as error:
        print(f"fedhive bench --layers: {error}", file=sys.stderr)
        return 2
    found = json.loads(lines[-1])
    summary = summary_of(found)
    manifest = {**machine.describe(program, "", 1, command_of(config, given)), "workers": 0, "layers": {key: found[key] for key in ("model", "kernels", "batch_size", "turns")}, **summary}
    out = given.out or ROOT / f"results/runs/layers-{machine.slug(config.stem)}"
    write(out, found, manifest)
    print(f"{found['model']}, batches of {found['batch_size']}, {found['kernels']} kernels, one thread; each the shortest of {found['turns']} turns")
    print(table(found))
    print(f"\nThe core makes {summary['peak_gflops']:.0f} GFLOP/s of multiply-adds at most. A step, {summary['step_ms']:.3f} ms, is {summary['of_peak']:.0%} of that, all "
          f"products counted; LibTorch's takes {summary['libtorch_step_ms']:.3f} ms, {summary['ratio']:.2f} times as long.\n{out}/layers.csv")
    return 0
