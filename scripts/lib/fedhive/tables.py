"""Reads the results of a run: tables as pandas DataFrames, the model as arrays. pandas, NumPy and torch are loaded when needed."""
from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import package_error

if TYPE_CHECKING:
    import pandas

# As `fedhive columns --json` names them; a test compares. What stands in none of them is a number with a point.
TEXTS = {"update_hash", "failure", "model", "owner", "run", "status", "reason", "case", "model_sha256"}
INTEGERS = {"round", "version", "cohort", "accepted", "failed", "bytes_down", "bytes_up", "left_behind", "in_flight", "client_id", "worker",
            "slot", "num_examples", "sent_round", "staleness", "held_out", "clients", "examples", "label", "predicted", "targets", "rounds_done",
            "attempts", "failures"}
INTEGERS_OR_EMPTY = {"steps", "best_round", "rounds_to_target", "peak_bytes", "workers_used"}
_LABEL = re.compile(r"label_\d+")
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1", "BOOL": "?"}


def kind_of(column: str) -> str:
    """Returns the dtype of a column: "string", "Int64" or "float64"."""
    if column in TEXTS:
        return "string"
    return "Int64" if column in INTEGERS | INTEGERS_OR_EMPTY or _LABEL.fullmatch(column) else "float64"


def value_of(column: str, cell: str) -> Any:
    """Returns a cell of a table as int, float or text of its column's kind; None for an empty one."""
    if not cell:
        return None
    return {"string": str, "Int64": int, "float64": float}[kind_of(column)](cell)


def read_table(file: Path) -> pandas.DataFrame:
    """Returns a table of a run or sweep.

    Integers are int64, or Int64 where a cell may be empty (<NA>); other numbers exact float64 (NaN); texts "string". The values of a
    sweep's varied keys, and its seeds, have pandas' types. Half a line at the end, from a killed run, is left out.
    Raises FileNotFoundError if the run has no such table, ImportError without pandas.
    """
    try:
        import pandas
    except ImportError:
        raise package_error("pandas", "a table of a run") from None
    if not file.is_file():
        raise FileNotFoundError(f"{file.parent} has no {file.name}")
    text = file.read_bytes()
    text = text[:text.rfind(b"\n") + 1]
    if not text:
        return pandas.DataFrame()
    columns = list(pandas.read_csv(io.BytesIO(text), nrows=0).columns)
    varied = columns[2:columns.index("seed") + 1] if file.name == "summary.csv" else []
    kinds = {column: kind_of(column) for column in columns if column not in varied}
    exact = {} if _version(pandas) >= (3, 1) else {"float_precision": "round_trip"}  # what later versions do by themselves
    empty = {column: ["", "nan", "-nan"] if kinds.get(column) == "float64" else [""] for column in columns}
    table = pandas.read_csv(io.BytesIO(text), dtype=kinds, keep_default_na=False, na_values=empty, **exact)
    return table.astype({column: "int64" for column, kind in kinds.items()
                         if kind == "Int64" and column not in INTEGERS_OR_EMPTY and not table[column].hasnans})


def _version(package: Any) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", package.__version__)[:2])


def read_tensors(file: Path) -> dict[str, Any]:
    """Returns {name: tensor} of a safetensors file, as writable NumPy arrays.

    Raises FileNotFoundError, ValueError for another file, ImportError without NumPy.
    """
    try:
        import numpy
    except ImportError:
        raise package_error("numpy", "a model as arrays") from None
    content = bytearray(file.read_bytes())
    start = 8 + int.from_bytes(content[:8], "little")
    try:
        head = json.loads(content[8:start])
        tensors = {}
        for name, entry in head.items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                tensors[name] = numpy.frombuffer(memoryview(content)[start + begin:start + end], _DTYPES[entry["dtype"]]).reshape(entry["shape"])
        return tensors
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(f"{file} is no safetensors file that fedhive reads: {error}") from None
