import fedhive as fh
import nothing_of_that_name
@fh.server(python=True)
def server(updates):
    return updates[0]
