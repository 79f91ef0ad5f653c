"""FedAvg's local training in PyTorch: E passes of SGD, McMahan et al. 2017 (arXiv:1602.05629), Algorithm 1, ClientUpdate.

strategy: {visit: configs/visits/fedavg.py}; docs/methods.md says what else a visit may read. Change the loss, the optimiser or the steps.
"""
import torch


def visit(model, batches, client):
    descent = torch.optim.SGD(model.parameters(), lr=client.lr)
    for x, y in batches:
        descent.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        descent.step()
        client.add_loss(loss, len(y))
