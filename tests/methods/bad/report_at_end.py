import fedhive as fh
agree = fh.report("agree")
v = fh.memory("v", of="client")
@fh.end
def end(u, v):
    return {agree: fh.cos(u, v), v: u * agree}
