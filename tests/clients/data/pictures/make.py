"""Writes the pictures of this folder and, for each, NAME.pixels: Pillow's pixels, as bytes of (height, width, channels).

usage: make.py      in this folder; needs Pillow and NumPy. The files here were made with Pillow 13.0.0.
"""
import struct
import zlib
from pathlib import Path

import numpy
from PIL import Image

HERE = Path(__file__).resolve().parent
HEIGHT, WIDTH = 13, 10
down, right = numpy.mgrid[0:HEIGHT, 0:WIDTH]
GREY = ((down * 19 + right * 7) % 256).astype("uint8")
COLOUR = numpy.stack([GREY, 255 - GREY, (right * 25 + down) % 256], axis=2).astype("uint8")
SMOOTH = numpy.stack([down * 18, right * 25, 255 - down * 9 - right * 12], axis=2).astype("uint8")


def interlaced_png(pixels):
    """Adam7 interlacing, which Pillow reads but does not write."""
    rows = b""
    for top, left, steep, wide in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
        part = pixels[top::steep, left::wide]
        if part.size > 0:
            rows += b"".join(b"\0" + row.tobytes() for row in part)
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def put(name, image, mode, **options):
    """The file, and Pillow's pixels in that mode."""
    if image is not None:
        image.save(HERE / name, **options)
    (HERE / name).with_suffix((HERE / name).suffix + ".pixels").write_bytes(numpy.asarray(Image.open(HERE / name).convert(mode)).tobytes())


def main():
    grey, colour, smooth = Image.fromarray(GREY), Image.fromarray(COLOUR), Image.fromarray(SMOOTH)
    see_through = Image.fromarray(numpy.dstack([COLOUR, GREY]))
    put("grey.png", grey, "L")
    put("colour.png", colour, "RGB")
    put("colour_as_grey.png", colour, "L")
    put("grey_as_colour.png", grey, "RGB")
    put("alpha.png", see_through, "RGB")
    put("grey_alpha.png", see_through.convert("LA"), "L")
    put("palette.png", colour.quantize(16), "RGB")
    put("palette_alpha.png", colour.quantize(4), "RGB", transparency=1)
    put("two_colours.png", grey.convert("1"), "L")
    (HERE / "gamma.png").write_bytes(with_gamma(HERE / "colour.png"))
    put("gamma.png", None, "RGB")
    (HERE / "interlaced.png").write_bytes(interlaced_png(COLOUR))
    put("interlaced.png", None, "RGB")
    put("grey.jpg", grey, "L", quality=90, optimize=True)
    put("smooth.jpg", smooth, "RGB", quality=90, optimize=True)
    put("smooth_as_grey.jpg", smooth, "L", quality=90, optimize=True)
    put("whole_chroma.jpg", colour, "RGB", quality=95, subsampling=0, optimize=True)
    put("progressive.jpg", smooth, "RGB", quality=80, progressive=True)
    smooth.convert("CMYK").save(HERE / "cmyk.jpg", quality=80, optimize=True)  # refused, like the next one
    Image.fromarray(GREY.astype("uint16") * 257).save(HERE / "sixteen_bits.png")


def with_gamma(file):
    """The same file with a gAMA chunk of 1.0, which Pillow ignores."""
    data = file.read_bytes()
    body = b"gAMA" + struct.pack(">I", 100000)
    return data[:33] + struct.pack(">I", 4) + body + struct.pack(">I", zlib.crc32(body)) + data[33:]


if __name__ == "__main__":
    main()
