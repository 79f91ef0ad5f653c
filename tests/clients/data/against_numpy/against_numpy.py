"""NumPy archives written in other ways than numpy.savez does: fedhive must read the same as numpy.load.

usage: against_numpy.py CASE NPZ_TOOL        NumPy is looked for in .deps/python, where scripts/setup --tests puts it, then elsewhere
"""
import io
import random
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

sys.dont_write_bytecode = sys.pycache_prefix is None  # never beside the sources
sys.path.insert(0, str(Path(__file__).resolve().parents[4] / ".deps/python"))
try:
    import numpy
except ImportError as missing:
    print(f"[skipped] {missing}; scripts/setup --tests installs it")
    sys.exit(0)

warnings.simplefilter("ignore")  # about repeated members, and headers of Python 2
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
X, Y = numpy.arange(18, dtype="f4").reshape(6, 3) / 4, numpy.array([0, 1, 2, 2, 1, 0])


def npy(array, version=None):
    written = io.BytesIO()
    numpy.lib.format.write_array(written, numpy.asanyarray(array), version)
    return written.getvalue()


def with_head(array, head):
    """The array's bytes after a handwritten header of version 1."""
    padded = head.ljust(118 - 1) + "\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode() + array.tobytes()


class OneWay(io.RawIOBase):
    """A file without seek: zipfile then writes sizes after the members."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)

    def close(self):
        self.file.close()
        super().close()


def write_zip(path, members, compression=zipfile.ZIP_STORED, zip64=False, one_way=False):
    with OneWay(path) if one_way else open(path, "wb") as file, zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members:
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=zip64) as member:
                member.write(content)


def read_all(tool, form, files):
    ran = subprocess.run([tool, form, *map(str, files)], check=True, capture_output=True, text=True, timeout=100)
    lines = ran.stdout.split("\n")[:-1]
    assert len(lines) == len(files), "one line a file"
    return lines


def as_numpy_reads(file, form):
    """The expected output of npz_tool for it."""
    with numpy.load(file) as archive:
        x, y = archive["x"], archive["y"]
        kept = "u1" if x.dtype == "u1" else "<i4" if form == "tokens" else "<f4"
        numbers = y.astype("f4").ravel() if form == "numbers" else y.astype("i8").ravel()
        owners = numpy.unique(archive["client"], return_inverse=True)[1] if "client" in archive else []
    text = " ".join(f"{number:.9g}" if form == "numbers" else str(number) for number in numbers)
    return f"{x.astype(kept).tobytes().hex()}|{text}|{' '.join(map(str, owners))}"


def same(found, file, form):
    if form != "numbers":
        return found == as_numpy_reads(file, form)
    (x, y, owners), (own_x, own_y, own_owners) = found.split("|"), as_numpy_reads(file, form).split("|")
    return (x, owners) == (own_x, own_owners) and [numpy.float32(number) for number in y.split()] == [numpy.float32(number) for number in own_y.split()]


def odd_members():
    """Lists of members that contain x and y for numpy.load."""
    x, y, other = npy(X), npy(Y), npy(Y[::-1] + 1)
    yield [("x.npy", x), ("y.npy", y)]
    yield [("y", y), ("x", x)]
    yield [("x", x), ("y.npy", y), ("client", npy(Y * 7)), ("z.npy", b"no array")]
    for first, last in ("y.npy", "y.npy"), ("y", "y"), ("y", "y.npy"), ("y.npy", "y"):
        yield [("x.npy", x), (first, other), (last, y)]
        yield [(first, y), ("x.npy", x), (last, other), ("x.npy", npy(-X))]
        yield [("client" + first[1:], npy(Y)), ("x.npy", x), ("y.npy", y), ("client" + last[1:], npy(-Y))]
    yield [("folder/x.npy", npy(-X)), ("x.npy", x), ("y.npy.npy", other), ("y.npy", y), ("X.npy", npy(-X))]
    for version in (1, 0), (2, 0), (3, 0):
        yield [("x.npy", npy(X, version)), ("y.npy", npy(Y, version))]
    for head in ("{'descr': '=f4', 'fortran_order': False, 'shape': (6, 3), }", "{'descr': 'f4', 'fortran_order': False, 'shape': (6, 3)}",
                 "{'shape': (6L, 3L), 'fortran_order': False, 'descr': '<f4'}", "{ 'fortran_order':False,'descr':'<f4','shape':( 6,3 ) }"):
        yield [("x.npy", with_head(X, head)), ("y.npy", y)]
    yield [("x.npy", npy(X.astype("f8") / 3)), ("y.npy", y)]
    yield [("x.npy", npy(X.astype("u1"))), ("y.npy", npy(Y > 0)), ("client.npy", npy(Y > 1))]
    for form in INTEGERS:
        least, most = numpy.iinfo(form).min, numpy.iinfo(form).max
        owners = numpy.array([most, 1, least, most // 2 + 1, most, 0], form)
        yield [("x.npy", x), ("y.npy", npy(Y.astype(form))), ("client.npy", npy(owners))]


def ArchivesAreReadAsByNumpy(tool, folder):
    zips = [{}, {"compression": zipfile.ZIP_DEFLATED, "zip64": True}, {"compression": zipfile.ZIP_DEFLATED, "one_way": True}, {"zip64": True}]
    read = 0
    for members in odd_members():
        for options in zips:
            write_zip(folder / f"{read}.npz", members, **options)
            read += 1
    files = [folder / f"{number}.npz" for number in range(read)]
    for file, found in zip(files, read_all(tool, "classes", files)):
        assert same(found, file, "classes"), (zipfile.ZipFile(file).namelist(), found, as_numpy_reads(file, "classes"))
    for form in INTEGERS:
        numpy.savez(folder / "tokens.npz", x=numpy.arange(12, dtype=form).reshape(4, 3), y=[1, 0, 0, 1])
        assert same(*read_all(tool, "tokens", [folder / "tokens.npz"]), folder / "tokens.npz", "tokens"), form
        numpy.savez(folder / "positions.npz", x=X, y=numpy.arange(12, dtype=form).reshape(6, 2))
        assert same(*read_all(tool, "positions", [folder / "positions.npz"]), folder / "positions.npz", "positions"), form
    for form in "f4", "f8":
        numpy.savez(folder / "numbers.npz", x=X, y=numpy.arange(12, dtype=form).reshape(6, 2) / 3)
        assert same(*read_all(tool, "numbers", [folder / "numbers.npz"]), folder / "numbers.npz", "numbers"), form
    print(f"{read} archives of other forms than numpy.savez has are read as by NumPy")


def refused():
    """Arrays that are not supported blocks of numbers, by a part of their error."""
    words = numpy.array(["b", "a", "b", "c", "a", "b"])
    yield "x", "Fortran order", numpy.asfortranarray(X)
    yield "x", "Fortran order", numpy.asfortranarray(X.reshape(6, 1, 3))
    for name, array in ("x", X), ("y", Y):
        yield name, "big-endian", array.astype(array.dtype.newbyteorder(">"))
    for form in "f2", "f16", "?", "i8", "u2", "c8", "m8[s]":
        yield "x", "has the dtype", X.astype(form)
    for form in "f2", "f4", "f8", "f16", "c16":
        yield "y", "has the dtype", Y.astype(form)
    yield "x", "has the shape", X[:, 0]
    yield "x", "has the shape", X.reshape(6, 3, 1, 1, 1)
    yield "x", "has texts", X.astype("U")
    yield "x", "has Python objects", X.astype("O")
    yield "x", "has the dtype [...]", numpy.rec.fromarrays(X.T, names="a,b,c")
    yield "y", "has the shape", Y.reshape(6, 1)
    yield "y", "has the shape", numpy.eye(3, dtype="i8")[Y]
    for name in "y", "client":
        yield name, "has texts", words
        yield name, "has texts", words.astype("S")
    yield "y", "expected: classes from 0", Y - 1
    yield "y", "is 18446744073709551615; expected: classes from 0", (Y - 1).astype("u8")
    yield "client", "has the dtype", Y / 2
    yield "client", "has the shape", Y.reshape(1, 6)


def WhatIsRefusedIsReadWithTheLineThatMendsIt(tool, folder):
    file = folder / "archive.npz"
    for name, what, array in refused():
        arrays = {
        "x" : X, "y" : Y, name : array}
        for mended in range(4):  # one problem after the other
            numpy.savez(file, **arrays)
            found, = read_all(tool, "classes", [file])
            if not found.startswith("refused: "):
                break
            assert found.startswith(f"refused: {file}: {name}: ") and (mended or what in found), (what, found)
            line = re.findall(r"(?:fix|or else)(?:, [^:;]*)?: (.*?)(?=; or else|$)", found)[-1]
            scope = {"numpy": numpy, **arrays}
            exec(line, scope)
            arrays = {
    each: scope[each] for each in arrays}
        assert 0 < mended < 3 and same(found, file, "classes"), (name, what, array.dtype, found)


def drawn_head(generator, form, shape):
    """NumPy's header with parts changed to something equivalent, different or invalid."""

    def either(usual, *others):
        return usual if generator.random() < 0.85 else generator.choice(others)

    sides = [str(side) for side in shape]
    comma = "," if len(shape) == 1 else ""
    dtype = either(form, form[1:], "=" + form[1:], "|" + form[1:], "!" + form[1:], ">" + form[1:], form + "6", form[:2] + "0" + form[2:], "", form[:2] + "3")
    sides[-1] = either(sides[-1], sides[-1] + "L", "0" + sides[-1], "-" + sides[-1], "+" + sides[-1], "0", "", sides[-1] + "_0", "1" + sides[-1], "99999999999999999999")
    shown = either(f"({', '.join(sides)}{comma})", f"({', '.join(sides)},)", f"[{', '.join(sides)}]", f"({','.join(sides)})", f"( {' ,'.join(sides)} , )", "()", f"({sides[0]})",
                   f"({', '.join(sides)},,)", f"({', '.join(sides)}", f"({' '.join(sides)},)")
    quote = either("'", '"', "", "u'")
    entries = [("descr", f"{quote}{dtype}{quote[-1:]}"), ("fortran_order", either("False", "True", "0", "false", "FalseTrue")), ("shape", shown)]
    generator.shuffle(entries)
    del entries[either(3, 2):]
    entries += either([], entries[:1], [("more", "1")])
    colon = either(": ", ":", " : ", " ")
    text = either(", ", ",", " , ", " ,\n", " ").join(f"'{key}'{colon}{value}" for key, value in entries)
    return either("", " ", "x") + "{" + text + either(", }", "}", " }", ",,}", "") + either("", " ", "}", "7", "# ")


def HeadsAreReadAsByNumpyOrRefused(tool, folder):
    generator = random.Random(1)
    arrays = {"x": X, "y": Y, "client": Y.astype("u8")}
    files = [folder / f"{number}.npz" for number in range(1500)]
    for file in files:
        changed = generator.choice(list(arrays))
        members = []
        for name, array in arrays.items():
            content = bytearray(with_head(array, drawn_head(generator, array.dtype.str, array.shape)) if name == changed else npy(array))
            if name == changed and generator.random() < 0.1:
                content[generator.randrange(10)] = generator.randrange(5)  # magic, version, length
            members.append((f"{name}.npy", bytes(content)))
        write_zip(file, members)
    accepted = 0
    for file, found in zip(files, read_all(tool, "classes", files)):
        if found.startswith("refused: "):
            continue
        accepted += 1
        assert same(found, file, "classes"), found
    assert 200 < accepted < len(files) / 2, accepted
    print(f"{accepted} of {len(files)} archives with odd heads are read, as by NumPy")


CASES = [ArchivesAreReadAsByNumpy, WhatIsRefusedIsReadWithTheLineThatMendsIt, HeadsAreReadAsByNumpyOrRefused]

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        {
        case.__name__: case for case in CASES}[sys.argv[1]](sys.argv[2], Path(temporary))
