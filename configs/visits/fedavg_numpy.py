"""FedAvg's local training of `model: {name: lr}` in NumPy, with the gradient of softmax regression by hand.

strategy: {visit: configs/visits/fedavg_numpy.py}; configs/visits/fedavg.py is the same for any model, in PyTorch.
"""
import numpy as np


def visit(weights, batches, client):
    w, b = weights["linear.weight"], weights["linear.bias"]
    for x, y in batches:
        x = x.reshape(len(x), -1)
        scores = x @ w.T + b
        scores -= scores.max(axis=1, keepdims=True)
        p = np.exp(scores)
        sums = p.sum(axis=1, keepdims=True)
        p /= sums
        rows = np.arange(len(y))
        client.add_loss((np.log(sums[:, 0]) - scores[rows, y]).mean(), len(y))
        p[rows, y] -= 1
        w -= client.lr * (p.T @ x) / len(y)
        b -= client.lr * p.mean(axis=0)
