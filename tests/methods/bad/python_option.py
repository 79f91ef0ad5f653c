import fedhive as fh
@fh.server(pyton=True)
def server(updates):
    return updates[0]
