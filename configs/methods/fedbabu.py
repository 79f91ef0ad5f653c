# FedBABU: Oh, Kim and Yun 2022 (arXiv:2106.06042): the head, model.local, is never trained; evaluation.clients.personalized fine-tunes the whole
# model for an epoch.
# For: personal.
import fedhive as fh


@fh.gradient
def gradient(g, local):
    return g * (1 - local)
