import fedhive as fh
velocity = fh.memory("velocity", of="client")
@fh.end
def end(u, velocity):
    return {"velocty": u + velocity}
