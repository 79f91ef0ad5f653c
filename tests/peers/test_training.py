"""with_multiprocessing.py against FedAvg of two clients by hand in NumPy; and detection of a side that omits steps."""
import numpy
import torch
from torch import multiprocessing

import with_multiprocessing
from support import TemporaryFolder
from workload import Workload, accuracy, build_model


def softmax_gradient(weight, bias, x, y):
    scores = x @ weight.T + bias
    chances = numpy.exp(scores - scores.max(1, keepdims=True))
    chances /= chances.sum(1, keepdims=True)
    chances[numpy.arange(len(y)), y] -= 1
    chances /= len(y)
    return chances.T @ x, chances.sum(0)


def train_by_hand(weight, bias, x, y, workload):
    weight, bias, velocity_w, velocity_b = weight.copy(), bias.copy(), 0, 0
    for first in range(0, len(y), workload.batch_size):
        part = slice(first, first + workload.batch_size)
        gradient_w, gradient_b = softmax_gradient(weight, bias, x[part], y[part])
        velocity_w = workload.momentum * velocity_w + gradient_w
        velocity_b = workload.momentum * velocity_b + gradient_b
        weight -= workload.lr * velocity_w
        bias -= workload.lr * velocity_b
    return weight, bias


def average_by_hand(shared, workload):
    """The server's parameters after one round with clients 0 and 1."""
    start = shared.server.double().numpy()
    weight, bias = start[:12].reshape(3, 4), start[12:]
    result = numpy.zeros(15)
    for client in (0, 1):
        images, labels = shared.clients[client]
        local = train_by_hand(weight, bias, images.flatten(1).double().numpy(), labels.numpy(), workload)
        result += len(labels) / 8 * numpy.concatenate([local[0].ravel(), local[1]])
    return result


class Multiprocessing(TemporaryFolder):
    def setUp(self):
        super().setUp()
        torch.set_num_threads(1)

    def run_one_round(self, **changes):
        workload = Workload(self.workload_file(rounds=1, **changes))
        shared = with_multiprocessing.Shared(workload, workload.processes)
        expected = average_by_hand(shared, workload)
        multiprocessing.start_processes(with_multiprocessing.run, (shared, workload), nprocs=workload.processes, start_method="fork")
        return shared, expected

    def test_two_clients_are_averaged_by_their_examples(self):
        shared, expected = self.run_one_round()
        numpy.testing.assert_allclose(shared.server.numpy(), expected, atol=1e-6)
        self.assertEqual(int(shared.steps.sum()), 3)

    def test_momentum_starts_afresh_for_each_client(self):
        shared, expected = self.run_one_round(momentum=0.9, processes=1)
        numpy.testing.assert_allclose(shared.server.numpy(), expected, atol=1e-6)


class Workloads(TemporaryFolder):
    def test_missing_steps_are_found(self):
        workload = Workload(self.workload_file())
        workload.check_steps(2 + 1 + 2 + 1)
        with self.assertRaisesRegex(SystemExit, "5 local steps"):
            workload.check_steps(5)

    def test_cohorts_follow_one_another_around_the_clients(self):
        workload = Workload(self.workload_file(cohort=3))
        self.assertEqual([workload.cohort_of(index) for index in (0, 1)], [[0, 1, 2], [3, 0, 1]])

    def test_models_have_the_catalogues_numbers_of_parameters(self):
        for model, shape, expected in [("lr", [1, 28, 28], 7850), ("mlp", [1, 28, 28], 199210), ("mnist_cnn", [1, 28, 28], 21840),
                                       ("cnn_m", [1, 28, 28], 1199882), ("cnn_m", [3, 32, 32], 1626442)]:
            built = build_model(Workload(self.workload_file(model=model, shape=shape, classes=10)))
            self.assertEqual(sum(parameter.numel() for parameter in built.parameters()), expected)

    def test_accuracy_counts_what_is_right(self):
        model = torch.nn.Linear(2, 2, bias=False)
        model.weight.data = torch.eye(2)
        self.assertEqual(accuracy(model, torch.tensor([[1.0, 0], [0, 1], [0, 1], [1, 0]]), torch.tensor([0, 1, 0, 0])), 0.75)
