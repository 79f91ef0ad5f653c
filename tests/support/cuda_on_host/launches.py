"""Rewrites a .cu file as C++ for include/cuda_runtime.h: launches and __shared__ become calls; everything else, and every line,
stays.

usage: launches.py IN.cu OUT.cpp
"""
import re
import sys
from pathlib import Path

SKIPPED = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
LAUNCH = r"(?P<kernel>[A-Za-z_][\w:]*(?:<[^<>;{}()]*>)?)\s*<<<(?P<shape>.*?)>>>\s*\("
SHARED = r"(?P<extern>\bextern\s+)?\b__shared__\s+(?P<type>[\w:<>, ]+?)\s+(?P<name>\w+)\s*(?P<extents>(?:\[[^\]]*\]\s*)*);"
PARTS = re.compile(f"{SKIPPED}|{LAUNCH}|{SHARED}", re.DOTALL)


def shared(found):
    kind, name, extents = found["type"], found["name"], found["extents"].strip()
    if found["extern"]:
        return f"{kind}* const {name} = static_cast<{kind}*>(::cuda_on_host::dynamic_shared());"
    return f"auto& {name} = ::cuda_on_host::static_shared<{kind}{extents}>([] {{}});"


def launch(found, text):
    """Code up to the opening parenthesis of the arguments, with which the call continues."""
    none = re.match(r"\s*\)", text[found.end():])
    kernel = found["kernel"]
    return (f'::cuda_on_host::launch("{kernel}", ::cuda_on_host::Shape({found["shape"]}), '
            f"[](auto... arguments) {{ {kernel}(arguments...); }}" + ("" if none else ", "))


def convert(text, name):
    out, at = [f'#line 1 "{name}"\n'], 0
    for found in PARTS.finditer(text):
        out.append(text[at:found.start()])
        at = found.end()
        if found["kernel"]:
            out.append(launch(found, text) + "\n" * (found[0].count("\n") - found["shape"].count("\n")))
        else:
            out.append(shared(found) if found["name"] else found[0])
    out.append(text[at:])
    return "".join(out)


if __name__ == "__main__":
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.write_text(convert(source.read_text(encoding="utf-8"), source), encoding="utf-8")
