"""The local training of configs/mnist.yaml as a visit: SGD with momentum by hand, as tests/bench/peers/workload.py has it."""
import torch

MOMENTUM = 0.5


def visit(model, batches, client):
    parameters = list(model.parameters())
    velocities = [torch.zeros_like(parameter) for parameter in parameters]
    for x, y in batches:
        for parameter in parameters:
            parameter.grad = None
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        with torch.no_grad():
            for parameter, velocity in zip(parameters, velocities):
                velocity.mul_(MOMENTUM).add_(parameter.grad)
                parameter.add_(velocity, alpha=-client.lr)
        client.add_loss(loss, len(y))
