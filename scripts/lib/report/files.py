"""The text files of a run, whatever has been put in their places: none is waited for, none is taken into memory unless it fits."""
import os
import stat

MOST_BYTES = 1 << 30
KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


class FileProblem(Exception):
    """Why a file that is there cannot be read."""


def read_text(file, most=MOST_BYTES, errors="strict"):
    """The whole text of a regular file. FileNotFoundError where nothing is there, FileProblem where something else is, where it is closed to
    this process, has more than `most` bytes, or, with `errors` strict, is no UTF-8."""
    try:
        # O_NONBLOCK: a pipe without a writer would be waited for.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise FileProblem(error.strerror) from None  # of a socket: No such device or address
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileProblem(f"it is not a regular file but {KINDS.get(stat.S_IFMT(status.st_mode), 'something else')}")
        if status.st_size > most:
            raise FileProblem(f"it has {status.st_size} bytes, {most} at most can be read")
        with open(descriptor, "rb", closefd=False) as opened:
            return opened.read(most).decode("utf-8", errors=errors).replace("\r\n", "\n")
    except OSError as error:
        raise FileProblem(error.strerror) from None
    except UnicodeDecodeError as error:
        raise FileProblem(str(error)) from None
    finally:
        os.close(descriptor)
