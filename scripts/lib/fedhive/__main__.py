"""The command `fedhive` of an installed package, and `python3 -m fedhive`: becomes the program, with the same arguments."""
import os
import sys

from . import program


def main() -> None:
    """Replaces Python by the program. Returns only if there is none: prints why, and exits with status 1."""
    try:
        path = program.find(on_path=False)
    except FileNotFoundError as error:
        sys.exit(f"fedhive: {error}")
    os.execve(path, ["fedhive", *sys.argv[1:]], program.environment())


if __name__ == "__main__":
    main()
