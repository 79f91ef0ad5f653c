import fedhive as fh
import numpy as np
@fh.gradient
def gradient(g):
    return np.cumsum(g)
