import fedhive as fh
@fh.gradient
def gradient(g, w):
    a, b, c, d = g, w, g * w, g + w
    for step in range(60):
        a, b, c, d = b * c, c + d, d - a, a * b
    return a + b + c + d
