import fedhive as fh
S = fh.memory("S", of="visit", shape="logits")
