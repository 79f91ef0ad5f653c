"""A client's visit that moves the model by numbers drawn from the round and the client, whatever the model is. tests/bench/beside_flower/measure gives them
to two programs. The first client sends ten times as much, so that robust rules have something to leave out."""
import numpy as np


def step(round_number, client_id, place, shape):
    """Returns the change of the tensor at that place among the model's parameters, in float32."""
    draws = np.random.default_rng([round_number, client_id, place])
    return ((10 if client_id == 0 else 1) * 0.125 * draws.standard_normal(shape)).astype(np.float32)


def visit(weights, client):
    for place, values in enumerate(weights.values()):
        values += step(client.round, client.id, place, values.shape)
