"""table.md: what was measured where, and how to read it, before each table."""
from bench import tables, workloads

TITLES = {
    "w1": "W1: the tutorial, real MNIST, 4 clients of 15,000, 3 rounds of one epoch, mnist_cnn with dropout, evaluated each round",
    "w2": "W2: 100 clients of 600 examples of MNIST's shape, 10 a round, one epoch of batch 32",
    "w3": "W3: 1,000 clients of 10 to 50 examples, 100 a round, one epoch of batch 10; w3-step: all clients, of 20 examples, one step each",
    "w4": "W4: 1,000 clients of 50 images of 3 x 32 x 32, 50 a round, 5 steps of batch 10, CNN-C with dropout",
    "w5": "W5: aggregation alone, K updates of P floats, against a copy of as many bytes",
    "w6": "W6: the barrier alone, a round of one empty task a worker",
    "w7": "W7: deeper networks, 20 clients of 40 examples: images of 3 x 32 x 32, 4 clients a round, batch 20; tokens, 8 a round, batch 10",
}
HOW = """**Speed** is the reference's seconds a round divided by the side's: 1 is as fast as the reference, 2 twice as fast. Sides run in turn; a repeat
gives one ratio of median rounds (the first one left out), the table the median of the ratios and, in brackets, the lowest and the highest.
**Round** is training and aggregation without evaluation; fedhive's lasts until the next one begins, so it has reports and checkpoints in it.
**Whole process** is from start to exit, with making the data, which sides do in different ways but for W1; beside it, how many times as long
as fedhive's, and **outside rounds** what is left of it without the rounds at their median: starting, data, evaluation, what the first
round takes longer. **Peak memory** is the sum of PSS over all processes of a side, sampled in a run of its own of two rounds, not timed.
[docs/speed.md](../../../docs/speed.md#measure) says more."""


def _counted(number, word):
    return f"{number} {word}{'' if number == 1 else 's'}"


def _machine(manifest):
    gpu = f"{manifest['gpu']} ({manifest['cuda']}), " if "gpu" in manifest else ""
    return (f"{gpu}{manifest['cores']} cores of {manifest['cpu']} ({manifest['cpu_capability']}), LibTorch {manifest['libtorch']}, "
            f"{manifest['compiler']}, fedhive {manifest['fedhive']} at {manifest['commit']}, {manifest['date']}")


def _training(found, reference):
    work = found["workload"]
    size = workloads.parameters(work)
    yield (f"{work['model']}, {f'{size:,} parameters, ' if size else ''}{work['rounds']} rounds, {_counted(len(found['repeats']), 'repeat')}, "
           + (f"workers: {work['processes']}." if "eager" not in reference else "workers: auto."))
    yield tables.sides_table(found, reference)
    if split := tables.phases_table(found):
        yield "Where a round of fedhive goes (medians; a worker trains, the coordinator does the rest):"
        yield split


def render(manifest, measured, reference, quick=False):
    """measured: {name: what the store keeps of it}, in order."""
    blocks = [f"# Speed on {manifest.get('gpu') or manifest['cpu']}",
              f"Written by {', '.join(f'`{command}`' for command in manifest['commands'])}, which measures what is missing here, and with `--again` everything: {_machine(manifest)}."]
    if quick:
        blocks.append("**Made with --quick: the workloads are cut down to seconds and these figures mean nothing.**")
    if manifest["busy_before"] > 0.25 * manifest["cores"]:
        blocks.append(f"**The machine was doing other things ({manifest['busy_before']} of {manifest['cores']} cores busy): times are too long, and "
                      "ratios scatter.**")
    blocks.append(HOW)
    if trained := {name: found for name, found in measured.items() if "repeats" in found}:
        blocks += ["## At a glance", tables.glance(trained, reference)]
    titled = ""
    for name, found in measured.items():
        family = name.split("-")[0]
        blocks += [f"## {TITLES[family]}"] if family != titled else []
        titled = family
        if "rows" in found:
            columns = tables.AGGREGATION if family == "w5" else tables.BARRIER
            blocks.append(tables.part_table(found["rows"], columns))
        else:
            blocks += [f"### {name}"] if name != family else []
            blocks += _training(found, reference)
    return "\n\n".join(block.strip() for block in blocks) + "\n"
