import fedhive as fh
@fh.server
def server(w, root):
    return w + root.u
