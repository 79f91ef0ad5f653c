import fedhive as fh
@fh.server(python=True)
def server(updates, w):
    return w + updates.mean(axis=0)
