import fedhive as fh
state = fh.key("state", 1)
@fh.server(python=True)
def server(updates, state):
    return updates[0]
