"""scripts/data on sets with known checksums of their packed files, tested with small made-up sets.

usage: datasets_test.py
"""
import contextlib
import gzip
import hashlib
import io
import os
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest.mock import patch

sys.dont_write_bytecode = sys.pycache_prefix is None  # never beside the sources
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))
import datasets  # noqa: E402


def content(name):
    return f"what {name} holds".encode()


def write(path, packed):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed)
    return hashlib.md5(packed, usedforsecurity=False).hexdigest()


class Sets(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.given, self.data = Path(scratch.name) / "given", Path(scratch.name) / "data"
        self.given.mkdir()

    def put(self, name, sums, known):
        """Exit status and output, with `sums` as the published checksums of `known`."""
        said = io.StringIO()
        with patch.object(datasets, known, sums), patch.dict(os.environ, FEDHIVE_DATA=str(self.given)):
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                status = datasets.main([str(self.data), name])
        return status, said.getvalue()

    def holds(self, folder, names):
        self.assertEqual({path.name for path in (self.data / folder).iterdir()}, {*names, "SOURCE.json"})
        for file, origin in names.items():
            self.assertEqual((self.data / folder / file).read_bytes(), content(origin))

    def nothing_is_left(self):
        self.assertEqual(list(self.data.iterdir()) if self.data.exists() else [], [])

    def fashion(self):
        return {f"{name}.gz": write(self.given / "fashion-mnist" / f"{name}.gz", gzip.compress(content(name))) for name in datasets.MNIST}

    def test_fashion_mnist_is_unpacked_and_then_left_alone(self):
        sums = self.fashion()
        status, said = self.put("fashion_mnist", sums, "FASHION_PACKED_MD5")
        self.assertEqual((status, "checksums right; a config reads it with data.format: idx" in said), (0, True), said)
        self.holds("fashion-mnist", {name: name for name in datasets.MNIST})
        status, said = self.put("fashion_mnist", sums, "FASHION_PACKED_MD5")
        self.assertEqual((status, "there and intact" in said), (0, True), said)

    def test_another_file_than_the_published_one_is_refused(self):
        sums = self.fashion()
        write(self.given / "fashion-mnist/t10k-labels-idx1-ubyte.gz", gzip.compress(b"other labels"))
        status, said = self.put("fashion_mnist", sums, "FASHION_PACKED_MD5")
        self.assertEqual((status, "t10k-labels-idx1-ubyte.gz is damaged or another version: its MD5 is" in said), (1, True), said)
        self.nothing_is_left()

    def test_missing_file_is_named(self):
        sums = self.fashion()
        (self.given / "fashion-mnist/train-images-idx3-ubyte.gz").unlink()
        status, said = self.put("fashion_mnist", sums, "FASHION_PACKED_MD5")
        self.assertEqual((status, "fashion-mnist/train-images-idx3-ubyte.gz is not there" in said), (1, True), said)

    def test_a_split_of_emnist_gets_the_names_of_mnists_files(self):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for split in ("digits", "balanced", "letters", "byclass"):
                for part in ("train", "test"):
                    for kind in ("images-idx3", "labels-idx1"):
                        archive.writestr(f"gzip/emnist-{split}-{part}-{kind}-ubyte.gz", gzip.compress(content(f"{split} {part} {kind}")))
        sums = {"gzip.zip": write(self.given / "emnist/gzip.zip", packed.getvalue())}
        for split in ("digits", "balanced", "letters"):
            status, said = self.put(f"emnist_{split}", sums, "EMNIST_PACKED_MD5")
            self.assertEqual(status, 0, said)
            self.holds(f"emnist-{split}", {f"{part}-{kind}-ubyte": f"{split} {part.replace('t10k', 'test')} {kind}"
                                           for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")})

    def test_cifar100_is_taken_out_of_its_archive(self):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name in ("train.bin", "test.bin", "fine_label_names.txt"):
                entry = tarfile.TarInfo(f"cifar-100-binary/{name}")
                entry.size = len(content(name))
                archive.addfile(entry, io.BytesIO(content(name)))
        sums = {"cifar-100-binary.tar.gz": write(self.given / "cifar-100-binary.tar.gz", packed.getvalue())}
        status, said = self.put("cifar100", sums, "CIFAR100_PACKED_MD5")
        self.assertEqual((status, "data.format: cifar100" in said), (0, True), said)
        self.holds("cifar-100-binary", {"train.bin": "train.bin", "test.bin": "test.bin"})
        status, said = self.put("cifar100", {"cifar-100-binary.tar.gz": 32 * "0"}, "CIFAR100_PACKED_MD5")
        self.assertEqual((status, "there and intact" in said), (0, True), said)
        (self.data / "cifar-100-binary/train.bin").write_bytes(b"")
        status, said = self.put("cifar100", {"cifar-100-binary.tar.gz": 32 * "0"}, "CIFAR100_PACKED_MD5")
        self.assertEqual((status, "making it anew" in said, "is damaged" in said), (1, True, True), said)


if __name__ == "__main__":
    unittest.main()
