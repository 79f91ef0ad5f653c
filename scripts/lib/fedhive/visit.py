"""A client's visit of one's own: runs the function `visit` of a file in a worker's Python process, over shared memory. docs/methods.md.

usage: python3 -m fedhive.visit FILE --out RESULT        checks the file and writes {"doc": its first line, "arguments": […], "memory": {…}}
       python3 -m fedhive.visit FILE --serve FD FD       answers requests, one JSON object a line, from the first descriptor at the second

Requests: {"do": "begin", "source": the file's text, …}, then {"do": "visit", …} for each client. Answers: {…} or {"error": text}.
"""
import inspect
import json
import mmap
import os
import random
import sys
import traceback
from pathlib import Path

from .rule import Refused, np, own_error

ARGUMENTS = ("model", "weights", "vector", "batches", "client")
MEMORY_SHAPES = ("model", "classes", "scalar")
_TAKEN = ("model", "control", "residual", "local", "history")
_MOST_MEMORIES = 8
_LONGEST_NAME = 16


class Visit:
    """One file with `visit`."""

    def __init__(self, path, source):
        """Runs the file, whose text is `source`. Raises Refused if it gives no such function; its own errors pass through."""
        self.path = os.path.abspath(path)
        names = {"__name__": "visit", "__file__": self.path}
        sys.path.insert(0, os.path.dirname(self.path))
        exec(compile(source, self.path, "exec", dont_inherit=True), names)
        self.function = names.get("visit")
        if not callable(self.function):
            raise Refused(f"{path}: the file has no function `visit`; write def visit(model, batches, client): …, which trains the model and returns nothing")
        self.arguments = list(inspect.signature(self.function).parameters)
        line = self.function.__code__.co_firstlineno if inspect.isfunction(self.function) else 1
        for name in self.arguments:
            if name not in ARGUMENTS:
                raise Refused(f"{path}:{line}: visit's argument '{name}' is not known. There are: {', '.join(ARGUMENTS)}")
        self.memory = _memory(path, names.get("MEMORY", {}))
        self.doc = ((inspect.getdoc(self.function) or names.get("__doc__") or "").strip().splitlines() or [""])[0]


def _memory(path, declared):
    """Returns {name: shape} of what a client keeps. Raises Refused for anything else."""
    if not isinstance(declared, dict) or len(declared) > _MOST_MEMORIES:
        raise Refused(f"{path}: MEMORY is {declared!r}; allowed: a dict of at most {_MOST_MEMORIES} names, {{'name': {' | '.join(map(repr, MEMORY_SHAPES))}}}")
    for name, shape in declared.items():
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii() or len(name) > _LONGEST_NAME or name in _TAKEN:
            raise Refused(f"{path}: MEMORY: {name!r} is not a name for a memory; allowed: letters, digits and _, {_LONGEST_NAME} at most, and none of {', '.join(_TAKEN)}")
        if shape not in MEMORY_SHAPES:
            raise Refused(f"{path}: MEMORY[{name!r}] is {shape!r}; allowed: {', '.join(MEMORY_SHAPES)}")
    return declared


class Client:
    """What a visit knows of its client. rng, and PyTorch's, NumPy's and Python's own generators, begin with the client's key of the round."""

    def __init__(self, request, memory):
        """memory: {name: f32 array, a view}."""
        self.id, self.round, self.examples = request["client"], request["round"], request["examples"]
        self.lr, self.epochs, self.batch_size = request["lr"], request["epochs"], request["batch_size"]
        low, high = request["key"]
        self.seed = low >> 1
        self.rng = np.random.Generator(np.random.Philox(key=low | high << 64))
        self.memory = memory
        self.loss_sum, self.counted = 0.0, 0.0

    def add_loss(self, loss, examples):
        """Adds the mean loss of a number of examples to the client's train_loss."""
        self.loss_sum += float(loss) * examples
        self.counted += examples


class Batches:
    """The batches of a visit in fedhive's order, (x, y) each: all local epochs or steps, one after the other. Each loop begins anew."""

    def __init__(self, x, y, order, ends, taken):
        """order: positions in x, of all batches; ends: where each ends in it; taken: one number that counts batches."""
        self.x, self.y = x, y
        self._order, self._ends, self._taken = order, ends, taken

    def __len__(self):
        return len(self._ends)

    def __iter__(self):
        begin = 0
        for end in self._ends:
            self._taken[0] += 1
            rows = self._order[begin:end]
            begin = end
            yield self.x[rows], self.y[rows]


class Worker:
    """The visits of one worker: the file's function over the worker's memory."""

    def __init__(self, path, request):
        """Maps the memory. Raises Refused, and what the file raises."""
        self.visit = Visit(path, request["source"])
        self._plan = request
        data = np.frombuffer(mmap.mmap(request["segment"], request["bytes"]), dtype=np.uint8)

        def part(name, kind, count):
            begin = request["at"][name]
            return data[begin:begin + count * np.dtype(kind).itemsize].view(kind)

        self._part = part
        self._taken = part("taken", np.uint64, 1)
        self._vector = part("vector", np.float32, request["floats"])
        self._weights = {name: self._vector[at:at + size].reshape(shape) for name, at, size, shape in request["tensors"]}
        kept = part("memory", np.float32, request["memory_floats"])
        self._memory = {name: kept[at:at + size] for name, at, size in request["memory"]}
        self._torch = self._layers = None
        if "model" in self.visit.arguments:
            self._begin_torch(request)

    def _begin_torch(self, request):
        import torch
        from . import modules
        missing = modules.kinds_without_module(request["layers"])
        if missing or not request["layers"]:
            raise Refused(f"{self.visit.path}: visit's argument 'model': " + (
                f"layer '{missing[0]}' has no module of PyTorch" if missing else "the model is a graph") + "; take the argument 'weights' instead")
        self._torch, self._modules, self._layers = torch, modules, request["layers"]
        torch.set_num_threads(request["threads"])
        self._tensors = {name: torch.from_numpy(array) for name, array in self._weights.items()}
        model = modules.over_vector(self._layers, self._tensors)
        names = {name for name, _ in model.named_parameters()} | {name for name, _ in model.named_buffers() if not name.endswith("num_batches_tracked")}
        if names != set(self._tensors):
            raise Refused(f"{self.visit.path}: the module has the tensors {sorted(names)}, the model {sorted(self._tensors)}; take the argument 'weights' instead")

    def _examples(self, n):
        """Returns x and y of the client's examples."""
        plan = self._plan
        x = self._part("x", np.float32, n * int(np.prod(plan["shape"]))).reshape(n, *plan["shape"])
        shape = (n,) if plan["target_width"] == 1 and plan["labels"] else (n, plan["target_width"])
        y = self._part("y", np.int64 if plan["labels"] else np.float32, n * plan["target_width"]).reshape(shape)
        x = x.astype(np.int64) if plan["tokens"] else x
        return (self._torch.from_numpy(x), self._torch.from_numpy(y)) if self._torch else (x, y)

    def _seed(self, client):
        random.seed(client.seed)
        np.random.seed(client.seed % 2**32)
        if self._torch:
            self._torch.manual_seed(client.seed)

    def run(self, request):
        """Runs the visit of a client. Returns the answer. Raises Refused for what the function may not return, and what it raises."""
        client = Client(request, self._memory)
        x, y = self._examples(client.examples)
        order = self._part("order", np.uint32, request["order"]).astype(np.int64)
        ends = self._part("ends", np.uint64, request["steps"]).tolist()
        self._taken[0] = 0
        batches = Batches(x, y, self._torch.from_numpy(order) if self._torch else order, ends, self._taken)
        weights = dict(self._weights)
        model = self._modules.over_vector(self._layers, self._tensors) if self._layers else None
        self._seed(client)
        given = {"model": model, "weights": weights, "vector": self._vector, "batches": batches, "client": client}
        result = self.visit.function(**{name: given[name] for name in self.visit.arguments})
        if result is None:
            self._bring_back(model, weights)
        else:
            self._vector[:] = self._update(result)
        return {"steps": int(self._taken[0]), "is_update": result is not None, "counted": float(client.counted),
                "loss_sum": float(client.loss_sum) if np.isfinite(client.loss_sum) else None}

    def _bring_back(self, model, weights):
        """Copies values that are elsewhere, as after `weights[name] = …` or `parameter.data = …`, to the vector."""
        for name, view in self._weights.items():
            if weights.get(name) is not view:
                given = np.asarray(weights.get(name), dtype=np.float32)
                if given.shape != view.shape:
                    raise Refused(f"{self.visit.path}: visit leaves weights[{name!r}] with shape {list(given.shape)}; it has shape {list(view.shape)}")
                view[...] = given
        if model is None:
            return
        for name, value in [*model.named_parameters(), *model.named_buffers()]:
            view = self._tensors.get(name)
            if view is not None and value.data_ptr() != view.data_ptr():
                if value.shape != view.shape:
                    raise Refused(f"{self.visit.path}: visit leaves {name} with shape {list(value.shape)}; it has shape {list(view.shape)}")
                view.copy_(value.detach())

    def _update(self, result):
        size = self._vector.size
        result = result.detach().cpu().numpy() if hasattr(result, "detach") else result
        try:
            array = np.asarray(result, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise Refused(f"{self.visit.path}: visit returns {type(result).__name__}; return nothing, or an update, an array of {size} numbers: "
                          f"{error}") from None
        if array.shape != (size,):
            raise Refused(f"{self.visit.path}: visit returns an array of shape {list(array.shape)}; return nothing, or an update of shape [{size}]")
        return array


def _where(path, error):
    """Returns the error of the file's own code, with the calls on its way: FILE:LINE: text (visit:3 > step:9)."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == path]
    calls = [f"{frame.name}:{frame.lineno}" for frame in own] + [f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}"] * (frames[-1] not in own)
    return own_error(path, error) + (f" ({' > '.join(calls)})" if len(calls) > 1 else "")


def serve(path, requests, answers):
    """Answers requests until there are no more."""
    worker = None
    for line in requests:
        request = json.loads(line)
        try:
            if request["do"] == "begin":
                worker = Worker(path, request)
                given = {}
            else:
                given = worker.run(request)
        except Refused as refused:
            given = {"error": str(refused)}
        except Exception as error:  # the file's own
            traceback.print_exc()
            given = {"error": _where(os.path.abspath(path), error)}
        answers.write(json.dumps(given) + "\n")
        answers.flush()


def check(path, result):
    """Looks at the file and writes what the program wants to know of it. Returns the exit status."""
    try:
        visit = Visit(path, Path(path).read_bytes())
        if "model" in visit.arguments:
            import torch  # noqa: F401
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{path}: cannot be read: {error.strerror}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            print(own_error(path, missing), file=sys.stderr)
        else:
            print(f"{path}: {sys.executable} has no PyTorch, and a visit gets the `model` as a PyTorch module; install it (pip install torch), set FEDHIVE_PYTHON "
                  "to another Python, or take `weights`, NumPy arrays", file=sys.stderr)
        return 2
    except Exception as error:  # the file's own
        print(own_error(path, error), file=sys.stderr)
        return 2
    Path(result).write_text(json.dumps({"doc": visit.doc, "arguments": visit.arguments, "memory": visit.memory}), encoding="utf-8")
    return 0


def main(arguments):
    """Runs the command of the module's docstring. Returns the exit status."""
    if len(arguments) == 3 and arguments[1] == "--out":
        return check(arguments[0], arguments[2])
    if len(arguments) != 4 or arguments[1] != "--serve":
        print(__doc__.strip(), file=sys.stderr)
        return 2
    with os.fdopen(int(arguments[2]), encoding="utf-8") as requests, os.fdopen(int(arguments[3]), "w", encoding="utf-8") as answers:
        serve(arguments[0], requests, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
