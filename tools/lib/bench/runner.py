"""Measures what the store does not have yet; a bench that is stopped loses the repeat it was in."""
import sys

from bench import measure, parts


def _memory(side, workload):
    """Peak memory, MiB, in an extra run of two rounds: watching memory disturbs no timed run, and the files are in the page cache afterwards."""
    try:
        return side.run({**workload, "rounds": min(2, workload["rounds"])}, watch_memory=True)["peak_mib"]
    except measure.Failed as error:
        print(f"{workload['id']}: {side.name}: {error}", file=sys.stderr)
        return None


def _repeat(workload, sides, index, repeats):
    """Each side once: {side: figures, or what went wrong}."""
    figures = {}
    for side in measure.in_turn(sides, index):
        try:
            figures[side.name] = side.run(workload)
            told = f"{figures[side.name]['round_s']:.4f} s a round"
        except measure.Failed as error:
            figures[side.name] = {"failed": str(error)}
            told = str(error)
        print(f"{workload['id']}, repeat {index + 1} of {repeats}: {side.name}: {told}", flush=True)
    return figures


def training(workload, sides, store, repeats):
    """What the store has of the workload when all repeats are done."""
    able = [side for side in sides if side.supports(workload)]
    running = [side for side in able if not side.missing]
    how = {side.name: side.note for side in able}
    found = store.load(workload["id"], how)
    if not found or found["workload"]["rounds"] != workload["rounds"]:
        found = {"workload": workload, "memory": {}, "repeats": []}
    how = found.get("how", how)  # with peers that this call does not ask for
    if not found["memory"]:
        found["memory"] = {side.name: _memory(side, workload) for side in running}
        store.save(workload["id"], how, found)
    while len(found["repeats"]) < repeats:
        found["repeats"].append(_repeat(workload, running, len(found["repeats"]), repeats))
        store.save(workload["id"], how, found)
    return found


def part(name, build, store, gpu, repeats, quickly):
    how = {"repeats": repeats}
    if not (found := store.load(name, how)):
        found = {"rows": []}
        for row in parts.aggregation(build, gpu, repeats, quickly) if name == "w5" else parts.barrier(build, repeats, quickly):
            print(f"{name}: {row['case']}", flush=True)
            found["rows"].append(row)
        store.save(name, how, found)
    return found


def failures(found):
    """How many of its runs failed."""
    return sum("failed" in figures for repeat in found.get("repeats", []) for figures in repeat.values())
