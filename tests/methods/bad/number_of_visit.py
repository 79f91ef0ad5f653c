import fedhive as fh
c = fh.memory("c", of="visit", up=True, shape="number")
