"""The workload in pfl-research: torchrun --standalone --nproc-per-node 2 with_pfl.py WORKLOAD.json

Its simulated backend in multi-process mode (torch.distributed, one process per CPU, one thread each), federated averaging,
updates weighted by examples. The clients' data are tensor data sets created once; if clients differ in size, pfl is told so and
balances its processes.
"""
import functools
import itertools
import os
import sys
import time

import multiprocess
import numpy
import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.aggregate.weighting import WeightByDatapoints
from pfl.algorithm import FederatedAveraging, NNAlgorithmParams
from pfl.callback.base import TrainingProcessCallback
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.hyperparam import NNTrainHyperParams
from pfl.internal.ops.pytorch_ops import distributed
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from torch.nn import functional

from workload import MODELS, Workload, accuracy, say, say_ready, shards, test_data, train_data


def pfl_model(workload):
    """The model with the methods that pfl requires."""

    class Model(MODELS[workload.model]):
        num_steps = 0

        def loss(self, x, y):
            self.num_steps += 1
            return functional.cross_entropy(self(x), y)

        def metrics(self, x, y):
            return {}  # pfl calls it in the first round, whatever the evaluation frequency; clients evaluate nothing

    return Model(workload).train()


class Clock(TrainingProcessCallback):
    """Times rounds, and evaluates between them."""

    def __init__(self, workload, module, test):
        self.workload, self.module, self.test = workload, module, test

    def on_train_begin(self, *, model):
        if distributed.global_rank == 0:
            say_ready(os.getppid())
        self.start = time.perf_counter()
        return Metrics()

    def after_central_iteration(self, aggregate_metrics, model, *, central_iteration):
        if distributed.global_rank == 0:
            say(round_s=time.perf_counter() - self.start)
            if self.workload.evaluates(central_iteration):
                say(accuracy=accuracy(self.module, *self.test))
                self.module.train()
        self.start = time.perf_counter()
        return False, Metrics()


def federated_data(workload):
    clients = [PyTorchTensorDataset(shard, user_id=str(client)) for client, shard in enumerate(shards(workload, *train_data(workload)))]
    sizes = None if len(set(workload.examples)) == 1 else dict(enumerate(workload.examples))
    return FederatedDataset(clients.__getitem__, itertools.cycle(range(workload.clients)).__next__, sizes)


def leave():
    """Exits without Python's and PyTorch's cleanup, which sometimes aborts: "terminate called without an active exception"."""
    for sampler in multiprocess.active_children():
        sampler.terminate()
        sampler.join()
    os._exit(0)


def main():
    workload = Workload(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    numpy.random.seed(1)
    module = pfl_model(workload)
    model = PyTorchModel(module, functools.partial(torch.optim.SGD, momentum=workload.momentum), torch.optim.SGD(module.parameters(), lr=1.0))
    data = federated_data(workload)
    params = NNAlgorithmParams(workload.rounds, sys.maxsize, workload.cohort, None)
    FederatedAveraging().run(params, SimulatedBackend(data, data, [WeightByDatapoints()]), model,
                             NNTrainHyperParams(local_batch_size=workload.batch_size, local_num_epochs=workload.local_epochs,
                                                local_learning_rate=workload.lr),
                             callbacks=[Clock(workload, module, test_data(workload) if workload.evaluate_every else None)],
                             send_metrics_to_platform=False)
    num_steps, = distributed.all_reduce([torch.tensor([module.num_steps], dtype=torch.float32)])
    if distributed.global_rank == 0:
        workload.check_steps(int(num_steps))
    torch.distributed.destroy_process_group()
    leave()


if __name__ == "__main__":
    main()
