"""A worker's visits in its Python process: @fh.visit(python=True), over shared memory. docs/methods.md.

usage: python3 -m fedhive.visits FILE --serve FD FD       answers requests, one JSON object a line, from the first descriptor at the second

Requests: {"do": "begin", "source": the file's text, "keys": {…}, …}, then {"do": "visit", …} for each client. Answers: {…} or {"error": text}.
"""
import difflib
import math
import mmap
import os
import random
import sys

import numpy as np

from . import own_code
from .own_code import Refused


class Client:
    """The argument `client` of a visit. The key of client and round seeds rng and the global generators of PyTorch, NumPy and Python."""

    def __init__(self, request, memory, reports):
        """memory: {name: f32 array, a view}; reports: their names."""
        self.id, self.round, self.examples = request["client"], request["round"], request["examples"]
        self.lr, self.epochs, self.batch_size = request["lr"], request["epochs"], request["batch_size"]
        low, high = request["key"]
        self.seed = low >> 1
        self.rng = np.random.Generator(np.random.Philox(key=low | high << 64))
        self.memory = memory
        self.loss_sum, self.counted = 0.0, 0.0
        self._names, self._reported = reports, {}

    def report(self, name, value):
        """Sends a number with the update, under a name that fh.report declares. Raises ValueError for another name, and if the number is not finite."""
        if name not in self._names:
            near = difflib.get_close_matches(str(name), self._names, 1, 0.6)
            raise ValueError(f"report {name!r} is not declared{f'; did you mean {near[0]!r}?' if near else ''} There are: {', '.join(self._names) or 'none'}; "
                             f"fh.report({name!r}) declares one")
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"report {name!r} is {number}; a report is a finite number")
        self._reported[name] = number

    def reported(self):
        """Returns the reports in their order. Raises ValueError for one that was not told."""
        for name in self._names:
            if name not in self._reported:
                raise ValueError(f"report {name!r} is declared and not told: client.report({name!r}, number)")
        return [self._reported[name] for name in self._names]

    def add_loss(self, loss, examples):
        """Adds the mean loss over a number of examples to the client's train_loss."""
        self.loss_sum += float(loss) * examples
        self.counted += examples


class Batches:
    """The batches of a visit in fedhive's order, (x, y) each: all local epochs or steps, one after the other. Each loop starts again."""

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
        """Maps the memory. Raises MethodError and Refused."""
        self.path = os.path.abspath(path)
        self._function, file = own_code.load(path, request["source"], "visit", request["keys"])
        self._name = getattr(self._function, "__name__", "visit")
        self._arguments = own_code.argument_names(self._function)
        self._keys, self._reports = own_code.numbers_of(file, self._arguments), list(file.reports)
        self._plan = request
        data = np.frombuffer(mmap.mmap(request["segment"], request["bytes"]), dtype=np.uint8)

        def part(name, kind, count):
            begin = request["at"][name]
            return data[begin:begin + count * np.dtype(kind).itemsize].view(kind)

        self._part = part
        self._taken = part("taken", np.uint64, 1)
        self._vector = part("vector", np.float32, request["floats"])
        self._weights = {name: self._vector[at:at + size].reshape(shape) for name, at, size, shape in request["tensors"]}
        self._places = {name: (slice(at, at + size), tuple(shape)) for name, at, size, shape in request["tensors"]}
        kept = part("memory", np.float32, request["memory_floats"])
        self._memory = {name: kept[at:at + size] for name, at, size, _ in request["memory"]}
        for name, _, _, is_sent_down in request["memory"]:
            self._memory[name].flags.writeable = not is_sent_down
        self._torch = self._new_model = None
        if "model" in self._arguments:
            self._begin_torch(request)

    def _begin_torch(self, request):
        """Makes the function that gives each visit its model."""
        import torch
        self._torch = torch
        torch.set_num_threads(request["threads"])
        self._tensors = {name: torch.from_numpy(array) for name, array in self._weights.items()}
        self._new_model = self._graph(request["program"]) if request["program"] else self._of_layers(request["layers"])

    def _of_layers(self, layers):
        from . import modules
        missing = modules.kinds_without_module(layers)
        if missing:
            raise Refused(f"{self._who()}: layer '{missing[0]}' has no module of PyTorch; take 'weights' in its place")
        model = modules.over_vector(layers, self._tensors)
        names = {name for name, _ in model.named_parameters()} | {name for name, _ in model.named_buffers() if not name.endswith("num_batches_tracked")}
        if names != set(self._tensors):
            raise Refused(f"{self._who()}: the module has the tensors {sorted(names)}, the model {sorted(self._tensors)}; take 'weights' in its place")
        return lambda: modules.over_vector(layers, self._tensors)

    def _graph(self, program):
        from . import graphs
        try:
            graph = graphs.of_segment(*program, self._tensors)
        except Exception as error:  # of many kinds: another version of PyTorch wrote the file
            raise Refused(f"{self._who()}: PyTorch {self._torch.__version__} of {sys.executable} cannot load model.file: {type(error).__name__}: "
                          f"{str(error).splitlines()[0] if str(error) else ''}; export it with this PyTorch, or take 'weights' in its place") from None

        def again():
            graph.bind()
            return graph
        return again

    def _who(self):
        return f"{self.path}: {self._name}'s argument 'model'"

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
        """Runs the visit of a client. Returns the answer. Raises Refused for a result that the function may not return, and for its exceptions."""
        client = Client(request, dict(self._memory), self._reports)
        x, y = self._examples(client.examples)
        order = self._part("order", np.uint32, request["order"]).astype(np.int64)
        ends = self._part("ends", np.uint64, request["steps"]).tolist()
        self._taken[0] = 0
        batches = Batches(x, y, self._torch.from_numpy(order) if self._torch else order, ends, self._taken)
        weights = dict(self._weights)
        model = self._new_model() if self._new_model else None
        self._seed(client)
        given = {"model": model, "weights": weights, "vector": self._vector, "tensors": self._places, "batches": batches, "client": client, **self._keys}
        result = self._function(**{name: given[name] for name in self._arguments})
        self._keep(client.memory)
        if result is None:
            self._bring_back(model, weights)
        else:
            self._vector[:] = self._update(result)
        try:
            reports = client.reported()
        except ValueError as missing:
            raise Refused(f"{self.path}: {self._name}: {missing}") from None
        return {"steps": int(self._taken[0]), "reports": reports, "is_update": result is not None, "counted": float(client.counted),
                "loss_sum": float(client.loss_sum) if np.isfinite(client.loss_sum) else None}

    def _bring_back(self, model, weights):
        """Copies values that are elsewhere, as after `weights[name] = …` or `parameter.data = …`, to the vector."""
        for name, view in self._weights.items():
            if weights.get(name) is not view:
                given = np.asarray(weights.get(name), dtype=np.float32)
                if given.shape != view.shape:
                    raise Refused(f"{self.path}: {self._name} leaves weights[{name!r}] with shape {list(given.shape)}; it has shape {list(view.shape)}")
                view[...] = given
        if model is None:
            return
        for name, value in [*model.named_parameters(), *model.named_buffers()]:
            view = self._tensors.get(name)
            if view is not None and value.data_ptr() != view.data_ptr():
                if value.shape != view.shape:
                    raise Refused(f"{self.path}: {self._name} leaves {name} with shape {list(value.shape)}; it has shape {list(view.shape)}")
                view.copy_(value.detach())

    def _keep(self, memory):
        """Copies memories that are elsewhere, as after `client.memory[name] = …`."""
        for name, value in memory.items():
            view = self._memory.get(name)
            if view is None:
                raise Refused(f"{self.path}: {self._name}: client.memory has no {name!r}; there are: {', '.join(self._memory) or 'none'}; fh.memory({name!r}, "
                              "of=\"client\") declares one")
            if value is view:
                continue
            if not view.flags.writeable:
                raise Refused(f"{self.path}: {self._name} changes memory {name!r}, which is the server's")
            array = np.asarray(value.detach() if hasattr(value, "detach") else value, dtype=np.float32)
            if array.shape not in ((), view.shape):
                raise Refused(f"{self.path}: {self._name} leaves memory {name!r} with shape {list(array.shape)}; it has shape {list(view.shape)}")
            view[...] = array

    def _update(self, result):
        size = self._vector.size
        result = result.detach().cpu().numpy() if hasattr(result, "detach") else result
        try:
            array = np.asarray(result, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise Refused(f"{self.path}: {self._name} returns {type(result).__name__}; return nothing, or an update, an array of {size} numbers: "
                          f"{error}") from None
        if array.shape != (size,):
            raise Refused(f"{self.path}: {self._name} returns an array of shape {list(array.shape)}; return nothing, or an update of shape [{size}]")
        return array


class Process:
    """The state of the process: the worker's visits."""

    def __init__(self):
        self._worker = None

    def answer(self, path, request):
        """Returns the answer to a request."""
        if request["do"] == "begin":
            self._worker = Worker(path, request)
            return {}
        return self._worker.run(request)


if __name__ == "__main__":
    sys.exit(own_code.serve(sys.argv[1:], __doc__, Process().answer))
