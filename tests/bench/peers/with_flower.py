"""The workload in Flower's simulation engine: python3 with_flower.py WORKLOAD.json

Ray actors with one CPU each train the clients (flower_client.py) with the same loop as with_multiprocessing.py. The strategy is
Flower's FedAvg, weighted by examples, with a timer added. Flower draws the cohort.
"""
import logging
import os
import sys
import time

import torch
from flwr.app import ArrayRecord, ConfigRecord
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

import flower_client
from workload import Workload, accuracy, build_model, say, say_ready, test_data


class TimedFedAvg(FedAvg):
    def __init__(self, workload):
        # The counts decide; a fraction times the number of nodes could be rounded down.
        super().__init__(fraction_train=workload.cohort / workload.clients, fraction_evaluate=0.0, min_train_nodes=workload.cohort,
                         min_available_nodes=workload.clients)
        self.workload = workload

    def configure_train(self, server_round, arrays, config, grid):
        if server_round == 1:
            say_ready(os.getpid())
        self.start = time.perf_counter()
        return super().configure_train(server_round, arrays, config, grid)

    def aggregate_train(self, server_round, replies):
        replies = list(replies)
        result = super().aggregate_train(server_round, replies)
        say(round_s=time.perf_counter() - self.start)
        self.check(replies)
        return result

    def check(self, replies):
        """Checks that the whole cohort answered, with the right number of local steps each."""
        if len(replies) != self.workload.cohort or any(reply.has_error() for reply in replies):
            raise SystemExit("clients failed")
        for reply in replies:
            metrics = reply.content["metrics"]
            if metrics["num-steps"] != self.workload.steps_of(metrics["num-examples"]):
                raise SystemExit(f"{metrics['num-steps']} steps over {metrics['num-examples']} examples")


def server_of(path):
    server = ServerApp()

    @server.main()
    def main(grid, context):
        workload = Workload(path)
        model = build_model(workload)
        test = test_data(workload) if workload.evaluate_every else None

        def evaluate(server_round, arrays):
            if server_round > 0 and workload.evaluates(server_round - 1):
                model.load_state_dict(arrays.to_torch_state_dict())
                say(accuracy=accuracy(model, *test))

        TimedFedAvg(workload).start(grid, ArrayRecord(model.state_dict()), workload.rounds, evaluate_fn=evaluate,
                                    train_config=ConfigRecord({"workload": path}))

    return server


def main():
    path = os.path.abspath(sys.argv[1])
    workload = Workload(path)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    logging.getLogger("flwr").setLevel(logging.ERROR)
    run_simulation(server_of(path), flower_client.app, workload.clients,
                   backend_config={"client_resources": {"num_cpus": 1}, "init_args": {"num_cpus": workload.processes, "log_to_driver": False}})


if __name__ == "__main__":
    main()
