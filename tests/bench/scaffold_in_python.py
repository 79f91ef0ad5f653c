"""SCAFFOLD, option II, as configs/methods/scaffold.py has it, with both functions run by Python: the visit in PyTorch, the server in NumPy."""
import fedhive as fh
import numpy as np
import torch

c = fh.memory("c", of="server", down=True)
c_k = fh.memory("c_k", of="client")
d = fh.memory("d", of="visit", up=True)


@fh.visit(python=True)
def visit(model, vector, tensors, batches, client):
    sent, kept = vector.copy(), client.memory
    correction = torch.from_numpy(kept["c"] - kept["c_k"])
    parameters = [(parameter, correction[place].reshape(shape)) for parameter, (place, shape) in zip(model.parameters(), tensors.values())]
    for x, y in batches:
        for parameter, _ in parameters:
            parameter.grad = None
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        with torch.no_grad():
            for parameter, its_correction in parameters:
                parameter.add_(parameter.grad + its_correction, alpha=-client.lr)
        client.add_loss(loss, len(y))
    kept["d"][:] = (sent - vector) / (len(batches) * client.lr) - kept["c"]
    kept["c_k"] += kept["d"]


@fh.server
def server(w, c, k, server_lr, clients):
    return {"w": w + server_lr * fh.mean(k.u), c: c + fh.sum(k.d) / clients}
