"""Fetches, checks and unpacks the data sets; see scripts/data -h.

usage: datasets.py DESTINATION NAME…

A data set is made in a folder of another name and renamed when complete, so that what bears its name is whole.
"""
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import struct
import sys
import tarfile
import tempfile
import time
import urllib.request
import zipfile
import zlib
from functools import partial
from pathlib import Path


class DataError(Exception):
    """What a user can mend: a missing or damaged file, a mirror out of reach."""


MNIST_MIRRORS = ["https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"]
FASHION_MIRRORS = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                   "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"]
EMNIST_MIRRORS = ["https://biometrics.nist.gov/cs_links/EMNIST/", "https://www.itl.nist.gov/iaui/vip/cs_links/EMNIST/"]
CIFAR_MIRRORS = ["https://www.cs.toronto.edu/~kriz/"]
SHAKESPEARE_MIRRORS = ["https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/"]

MNIST = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
# These are known by the MD5 sums published for the packed files.
FASHION_PACKED_MD5 = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
EMNIST_PACKED_MD5 = {"gzip.zip": "58c8d27c78d21e728a6bc7b3cc06412e"}
CIFAR100_PACKED_MD5 = {"cifar-100-binary.tar.gz": "03b5dce01913d631647c71ecec9e9cb8"}

SHAKESPEARE = {"input.txt": "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"}

CIFAR100_FILES = ["train.bin", "test.bin"]
CIFAR_FILES = [f"data_batch_{batch}.bin" for batch in range(1, 6)] + ["test_batch.bin"]
CIFAR_ARCHIVE = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
# The official files are known by the MD5 sums published for them.
CIFAR_OFFICIAL_MD5 = dict(zip(CIFAR_FILES, [
    "5dd7e06a14cb22eb9f671a540d1b7c25", "5ea93a67294ea407fff1d09f752e9692", "942cd6a4bcdd0dd3c604fbe906cb4421",
    "ae636b3ba5c66a11e91e8cb52e771fcb", "53f37980c15c3d472c316c40844f3f0d", "803d5f7f4d78ea53de84dbe85f74fb6d"]))
# Made from JPEG images the pixels differ a little, the labels do not.
CIFAR_FROM_JPEG = dict(zip(CIFAR_FILES, [
    "a6f48cd4d8745d5b80b6a0f7665654d54e1aacda199a3a966cb7958b11d38f22", "0fedfbc7e914d425128b1bd02ce525bb46d91e8501ef68fa7212b115ee833d29",
    "98224e1a8a07e8e89e999b20ca6cde6227368fe22adde323001e2bd951a6377b", "d15e189b4939a25320baf2370f8a90a276205c86ec9ba1a7078ee110750e4f60",
    "0c8c18d4d4520b54624388692c1c184a98d73ef1166ddcf5346e47a937e283b8", "2696e48ae3fe74d50ecaacc0b8092b89bf95cd3f6471d079f4cbd39a956c18c3"]))


def digest(path, algorithm="sha256"):
    value = hashlib.new(algorithm, usedforsecurity=False)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            value.update(block)
    return value.hexdigest()


def require_digests(folder, expected, origin, algorithm="sha256"):
    for name, want in expected.items():
        have = digest(folder / name, algorithm)
        if have != want:
            raise DataError(f"{origin}: {name} is damaged or another version: its {algorithm.upper()} is {have}, expected {want}.")


def download(mirrors, name, target):
    """The first mirror that answers; progress as a line now and then."""
    failures = []
    for mirror in mirrors:
        url = mirror + name
        print(f"Fetching {url}", flush=True)
        try:
            with urllib.request.urlopen(url, timeout=60) as answer, open(target, "wb") as file:
                total, done, said = int(answer.headers.get("Content-Length") or 0), 0, time.monotonic()
                while block := answer.read(1 << 18):
                    file.write(block)
                    done += len(block)
                    if time.monotonic() - said > 10:
                        said = time.monotonic()
                        print(f"  {done >> 20} of {total >> 20} MiB", flush=True)
            if total and done != total:
                raise OSError(f"the connection ended after {done} of {total} bytes")
            return
        except OSError as error:
            failures.append(f"  {url}: {error}")
    raise DataError(f"{name} could not be downloaded:\n" + "\n".join(failures) +
                    "\nFetch it elsewhere, put it into a folder (scripts/data -h tells its layout), and set FEDHIVE_DATA to that folder.")


def unpack_gzip(packed, target):
    try:
        with gzip.open(packed) as source, open(target, "wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{packed} is damaged: {error}") from error


def unpack_tar(archive, inner, names, folder):
    with tarfile.open(archive) as tar:
        for name in names:
            with tar.extractfile(f"{inner}/{name}") as source, open(folder / name, "wb") as file:
                shutil.copyfileobj(source, file, 1 << 20)


def make_mnist(folder, given):
    for name in MNIST:
        if not given:
            packed = folder / (name + ".gz")
            download(MNIST_MIRRORS, packed.name, packed)
            unpack_gzip(packed, folder / name)
            packed.unlink()
        elif (given / "mnist" / name).exists():
            shutil.copyfile(given / "mnist" / name, folder / name)
        elif (given / "mnist" / (name + ".gz")).exists():
            unpack_gzip(given / "mnist" / (name + ".gz"), folder / name)
        else:
            raise DataError(f"FEDHIVE_DATA={given}: neither mnist/{name} nor mnist/{name}.gz is there.")
    require_digests(folder, MNIST, given / "mnist" if given else "download")
    return "official files"


def official(folder, given, place, packed_md5, mirrors):
    """Yields the packed files of a set, one at a time, once their sums are right: those of `place` below FEDHIVE_DATA, or downloaded."""
    for name, want in packed_md5.items():
        if given:
            if not (given / place / name).exists():
                raise DataError(f"FEDHIVE_DATA={given}: {Path(place) / name} is not there.")
            require_digests(given / place, {name: want}, given / place, "md5")
            yield given / place / name
        else:
            download(mirrors, name, folder / name)
            require_digests(folder, {name: want}, "download", "md5")
            yield folder / name
            (folder / name).unlink()


def make_fashion_mnist(folder, given):
    for packed in official(folder, given, "fashion-mnist", FASHION_PACKED_MD5, FASHION_MIRRORS):
        unpack_gzip(packed, folder / packed.name.removesuffix(".gz"))
    return "official files"


def make_emnist(split, folder, given):
    """One archive has all splits; the files of this one get the names of MNIST's."""
    for packed in official(folder, given, "emnist", EMNIST_PACKED_MD5, EMNIST_MIRRORS):
        with zipfile.ZipFile(packed) as archive:
            for name in MNIST:
                inner = f"gzip/emnist-{split}-{name.replace('t10k', 'test')}.gz"
                with archive.open(inner) as source:
                    unpack_gzip(source, folder / name)
    return f"split {split} of the official archive"


def make_cifar100(folder, given):
    for packed in official(folder, given, "", CIFAR100_PACKED_MD5, CIFAR_MIRRORS):
        unpack_tar(packed, "cifar-100-binary", CIFAR100_FILES, folder)
    return "official files"


def make_shakespeare(folder, given):
    if not given:
        download(SHAKESPEARE_MIRRORS, "input.txt", folder / "input.txt")
    else:
        source = given / "tinyshakespeare" / "input.txt"
        if not source.exists():
            raise DataError(f"FEDHIVE_DATA={given}: tinyshakespeare/input.txt is not there.")
        shutil.copyfile(source, folder / "input.txt")
    require_digests(folder, SHAKESPEARE, given / "tinyshakespeare" if given else "download")
    return "char-rnn repository"


def jpeg_records(path):
    """Yields 3,073-byte records of the binary layout from records of label (1 byte), size (2 bytes, big endian), JPEG."""
    try:
        from PIL import Image
    except ImportError as error:
        install = "apt-get install -y python3-pil" if sys.executable.startswith("/usr/bin/") else f"{sys.executable} -m pip install pillow"
        raise DataError(f"CIFAR-10 from JPEG images needs Pillow, which {sys.executable} lacks. Please install it: {install}") from error
    try:
        packed = lzma.open(path).read()
    except (lzma.LZMAError, EOFError) as error:
        raise DataError(f"{path} is damaged: {error}") from error
    position = 0
    while position < len(packed):
        label, size = struct.unpack_from(">BH", packed, position)
        position += 3
        image = Image.open(io.BytesIO(packed[position : position + size])).convert("RGB")
        position += size
        yield bytes([label]) + b"".join(channel.tobytes() for channel in image.split())


def cifar_from_jpegs(folder, given):
    images_per_file = 10000
    for part, names in (("train", CIFAR_FILES[:5]), ("test", CIFAR_FILES[5:])):
        print(f"Decoding {part} images", flush=True)
        records = jpeg_records(given / "cifar10" / f"{part}.jpegs.xz")
        for name in names:
            with open(folder / name, "wb") as file:
                file.writelines(record for _, record in zip(range(images_per_file), records))
    require_digests(folder, CIFAR_FROM_JPEG, given / "cifar10")
    return "JPEG images; pixels differ a little from the official files"


def cifar_from_archive(folder, archive, origin):
    have = digest(archive)
    if have != CIFAR_ARCHIVE:
        raise DataError(f"{origin}: cifar-10-binary.tar.gz is damaged: its SHA256 is {have}, expected {CIFAR_ARCHIVE}.")
    unpack_tar(archive, "cifar-10-batches-bin", CIFAR_FILES, folder)
    require_digests(folder, CIFAR_OFFICIAL_MD5, origin, "md5")
    return "official files"


def make_cifar10(folder, given):
    if not given:
        archive = folder / "cifar-10-binary.tar.gz"
        download(CIFAR_MIRRORS, archive.name, archive)
        source = cifar_from_archive(folder, archive, "download")
        archive.unlink()
        return source
    official = given / "cifar-10-batches-bin"
    if official.is_dir():
        for name in CIFAR_FILES:
            if not (official / name).exists():
                raise DataError(f"FEDHIVE_DATA={given}: cifar-10-batches-bin/{name} is not there.")
            shutil.copyfile(official / name, folder / name)
        if digest(folder / CIFAR_FILES[0]) == CIFAR_FROM_JPEG[CIFAR_FILES[0]]:
            require_digests(folder, CIFAR_FROM_JPEG, official)
            return "JPEG images; pixels differ a little from the official files"
        require_digests(folder, CIFAR_OFFICIAL_MD5, official, "md5")
        return "official files"
    if (given / "cifar-10-binary.tar.gz").exists():
        return cifar_from_archive(folder, given / "cifar-10-binary.tar.gz", given)
    if all((given / "cifar10" / f"{part}.jpegs.xz").exists() for part in ("train", "test")):
        return cifar_from_jpegs(folder, given)
    raise DataError(f"FEDHIVE_DATA={given}: none of cifar-10-batches-bin/, cifar-10-binary.tar.gz, cifar10/{{train,test}}.jpegs.xz is there.")


DATASETS = {
    "mnist": ("mnist", make_mnist, list(MNIST)),
    "fashion_mnist": ("fashion-mnist", make_fashion_mnist, list(MNIST)),
    "emnist_digits": ("emnist-digits", partial(make_emnist, "digits"), list(MNIST)),
    "emnist_balanced": ("emnist-balanced", partial(make_emnist, "balanced"), list(MNIST)),
    "emnist_letters": ("emnist-letters", partial(make_emnist, "letters"), list(MNIST)),
    "cifar10": ("cifar-10-batches-bin", make_cifar10, CIFAR_FILES),
    "cifar100": ("cifar-100-binary", make_cifar100, CIFAR100_FILES),
    "tinyshakespeare": ("tinyshakespeare", make_shakespeare, list(SHAKESPEARE)),
}


def intact(folder, names):
    """True when every file has the SHA-256 that SOURCE.json recorded once its content had been checked."""
    try:
        recorded = json.loads((folder / "SOURCE.json").read_text())["sha256"]
        return set(recorded) == set(names) and all(digest(folder / name) == recorded[name] for name in names)
    except (OSError, ValueError, KeyError, TypeError):
        return False


READ_BY = {"mnist": "data.format: idx", "fashion_mnist": "data.format: idx", "emnist_digits": "data.format: idx",
           "emnist_balanced": "data.format: idx", "emnist_letters": "data.format: idx", "cifar10": "data.format: cifar10",
           "cifar100": "data.format: cifar100", "tinyshakespeare": "data.format: text"}  # what a config reads it with; not here: no format does


def who_reads(name):
    return f"a config reads it with {READ_BY[name]}" if name in READ_BY else "no data.format of fedhive reads it yet; it is there for other programs"


def put(destination, name):
    folder_name, make, files = DATASETS[name]
    target = destination / folder_name
    if intact(target, files):
        print(f"{name}: {target} is there and intact; {who_reads(name)}")
        return
    if target.exists():
        print(f"{name}: {target} is incomplete or damaged; making it anew", flush=True)
    given = os.environ.get("FEDHIVE_DATA")
    given = Path(given).resolve() if given else None
    if given and not given.is_dir():
        raise DataError(f"FEDHIVE_DATA={given} is not a folder.")
    destination.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder_name}-", dir=destination) as temporary:
        folder = Path(temporary) / "new"
        folder.mkdir()
        source = make(folder, given)
        record = {"dataset": name, "source": source, "sha256": {file: digest(folder / file) for file in files}}
        (folder / "SOURCE.json").write_text(json.dumps(record, indent=2) + "\n")
        if target.exists():
            target.rename(Path(temporary) / "old")
        folder.rename(target)
    print(f"{name}: {target} ({source}), checksums right; {who_reads(name)}")


def main(arguments):
    try:
        for name in arguments[1:]:
            put(Path(arguments[0]), name)
    except (DataError, OSError) as error:
        print(f"scripts/data: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
