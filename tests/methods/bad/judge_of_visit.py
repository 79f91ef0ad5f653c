import fedhive as fh
c = fh.memory("c", of="visit", first="w_t")

@fh.gradient
def gradient(g, c):
    return {"g": g, c: c + g}

@fh.judge
def judge(c):
    return c
