"""A client in Flower. Ray's processes import this module, so that each keeps the data and one model for all of its clients."""
import functools

import torch
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from workload import Workload, build_model, shards, train_client, train_data

app = ClientApp()


@functools.lru_cache(1)
def prepare(path):
    torch.set_num_threads(1)
    workload = Workload(path)
    return workload, build_model(workload), shards(workload, *train_data(workload))


@app.train()
def train(message, context):
    workload, model, clients = prepare(message.content["config"]["workload"])
    images, labels = clients[context.node_config["partition-id"]]
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    num_steps = train_client(model, images, labels, workload)
    reply = {"arrays": ArrayRecord(model.state_dict()), "metrics": MetricRecord({"num-examples": len(labels), "num-steps": num_steps})}
    return Message(content=RecordDict(reply), reply_to=message)
