"""FedAvg by hand with torch.multiprocessing: python3 with_multiprocessing.py WORKLOAD.json

Persistent processes with one thread each. Shared memory contains the data, the server's parameters and one running sum per
process; the parameters of a process's model are views of one flat vector, so that a client starts with one copy and ends with
one addition. A shared counter hands out clients, the largest first.
"""
import os
import sys
import time

import torch
from torch import multiprocessing

from workload import Workload, accuracy, build_model, say, say_ready, shards, test_data, train_client, train_data


def flatten(model):
    """Returns one vector that holds the model's parameters from now on."""
    parameters = list(model.parameters())
    flat = torch.cat([parameter.detach().flatten() for parameter in parameters])
    for parameter, part in zip(parameters, flat.split([parameter.numel() for parameter in parameters])):
        parameter.data = part.view_as(parameter)
    return flat


class Shared:
    """Shared by all processes."""

    def __init__(self, workload, processes):
        model = build_model(workload)
        self.server = flatten(model).clone().share_memory_()
        self.sums = torch.zeros(processes, len(self.server)).share_memory_()
        self.steps = torch.zeros(processes, dtype=torch.int64).share_memory_()
        images, labels = train_data(workload)
        self.clients = shards(workload, images.share_memory_(), labels.share_memory_())
        self.next = multiprocessing.Value("q", 0)
        self.barrier = multiprocessing.Barrier(processes)

    def take(self):
        with self.next.get_lock():
            self.next.value += 1
            return self.next.value - 1


def train_cohort(rank, shared, model, local, cohort, workload):
    """This process's part of a round: the weighted sum over the clients that it trained."""
    total = sum(workload.examples[client] for client in cohort)
    mine = shared.sums[rank].zero_()
    while (place := shared.take()) < len(cohort):
        client = cohort[place]
        local.copy_(shared.server)
        shared.steps[rank] += train_client(model, *shared.clients[client], workload)
        mine.add_(local, alpha=workload.examples[client] / total)


def run(rank, shared, workload):
    torch.set_num_threads(1)
    model = build_model(workload)
    local = flatten(model)
    if rank == 0:
        test = test_data(workload) if workload.evaluate_every else None
        say_ready(os.getppid())
    for index in range(workload.rounds):
        cohort = sorted(workload.cohort_of(index), key=lambda client: -workload.examples[client])
        shared.barrier.wait()
        start = time.perf_counter()
        train_cohort(rank, shared, model, local, cohort, workload)
        shared.barrier.wait()
        if rank > 0:
            continue
        torch.sum(shared.sums, 0, out=shared.server)
        shared.next.value = 0
        say(round_s=time.perf_counter() - start)
        if workload.evaluates(index):
            local.copy_(shared.server)
            say(accuracy=accuracy(model, *test))


def main():
    workload = Workload(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    shared = Shared(workload, workload.processes)
    # No parallel region has run yet, so a plain fork is safe, and faster than importing PyTorch again.
    multiprocessing.start_processes(run, (shared, workload), nprocs=workload.processes, start_method="fork")
    workload.check_steps(int(shared.steps.sum()))


if __name__ == "__main__":
    main()
