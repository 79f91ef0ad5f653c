"""The checks of tools/check (see its -h), one function each: it returns a list of findings, empty when all is well or only warned of.

usage: checks.py [--root DIR] [--all] [--fix] [--write] [CHECK…]
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
import figures  # noqa: E402
import tidy  # noqa: E402

CODE = (".h", ".cpp", ".cu", ".cuh")
FLOORS = ["aggregation", "clients", "sim"]
# The rooms of each floor, from below: a room includes itself and rooms of the lines before its own.
ROOMS = {
    "aggregation": [["base"], ["memory"], ["math"], ["attacks", "cohort"], ["formulas"], ["server"]],
    "clients": [["data", "protocol"], ["exported", "tasks", "uploads"], ["models"], ["direct"], ["engine"], ["visit"], ["trainers"], ["worker"]],
    "sim": [["machine", "devices", "privacy", "ranks", "schedules", "selection"], ["strategies"], ["modes"], ["config"], ["record"], ["round", "screen", "workers"], ["fleet", "state", "sweep"], ["plan"], ["run"], ["app"]],
}
MAX_LINES = 400
MAX_README = 120
MAX_WORDS = 45_000  # of the documents, as document_words() counts
GENERATED = {"sim/version.h"}  # written by the build


class Tree:
    """The files of a checkout that git tracks or would track."""

    def __init__(self, root):
        self.root = root
        listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=False)
        names = listed.stdout.splitlines() if listed.returncode == 0 else [
            str(path.relative_to(root)) for path in root.rglob("*") if path.relative_to(root).parts[0] not in (".git", ".deps", "build", "data")]
        self.files = sorted({name for name in names if (root / name).is_file()})

    def ending(self, *endings):
        return [name for name in self.files if name.endswith(endings)]

    def code(self):
        return self.ending(*CODE)

    def text(self, name):
        return (self.root / name).read_text(encoding="utf-8", errors="replace")


def without_comments(text):
    """The same lines with comments and the inside of string literals blanked; #include lines keep their quotes."""
    pattern = r'^[ \t]*#[ \t]*include[^\n]*|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*(?:.|\n)*?\*/'

    def blank(match):
        found = match.group(0)
        if found.lstrip().startswith("#"):
            return found.split("//")[0]
        return '""' + "\n" * found.count("\n") if found[0] in "\"'R" else re.sub(r"[^\n]", " ", found)

    return re.sub(pattern, blank, text, flags=re.MULTILINE)


def format_(tree, options):
    files = tree.code()
    if options.fix:
        subprocess.run(["clang-format-14", "-i", *files], cwd=tree.root, check=True)
    ran = subprocess.run(["clang-format-14", "--dry-run", "-Werror", *files], cwd=tree.root, capture_output=True, text=True, check=False)
    found = defaultdict(list)
    for name, line in re.findall(r"^(.+?):(\d+):\d+: error: code should be clang-formatted", ran.stderr, flags=re.MULTILINE):
        found[name].append(line)
    if ran.returncode and not found:
        return [ran.stderr.strip()]
    return [f"{name}:{lines[0]}: not as clang-format would have it ({len(lines)} places); tools/check --fix format" for name, lines in found.items()]


def tidy_(tree, options):
    return tidy.findings(tree, everything=options.all)


# What may stand where. A rule is: where it holds, which includes it forbids, why.
def starts(*prefixes):
    return lambda text: text.startswith(prefixes)


LIBTORCH = re.compile(r"^<?(torch|ATen|c10|caffe2)/")
INCLUDE_RULES = [
    (starts("aggregation/math/"), re.compile(r"^aggregation/memory/(\w*arena|shared_segment)"), "aggregation/math sees spans, never an arena"),
    (lambda name: name.startswith(tuple(FLOORS)) and not name.startswith(("clients/exported/", "clients/models/", "clients/engine/", "clients/trainers/")), LIBTORCH,
     "LibTorch belongs to clients/exported, clients/models, clients/engine and clients/trainers"),
    (lambda name: name.endswith((".cu", ".cuh")), LIBTORCH, "no LibTorch in .cu files"),
    (starts(""), re.compile(r"^torch/torch\.h$"), "takes long to compile; clients/models/tensor.h has what is needed of it"),
    (lambda name: name.startswith(tuple(FLOORS)) and not name.startswith("sim/config/"), re.compile(r"^yaml-cpp/"), "only sim/config knows YAML"),
]
PRINTING = re.compile(r"\bstd::(cout|cerr|clog)\b|\bfmt::print\b|\bv?f?printf\s*\(|\bf?puts\s*\(|\bputchar\s*\(|\bperror\s*\(")
MAY_PRINT = re.compile(r"^sim/app/(cli|commands|main|doctor)|^sim/run/(reporter|console)")


def level_of(name):
    """The level, from 0, of the room that holds a floor's file; None if no room holds it."""
    floor, room = name.split("/")[:2]
    return next((level for level, rooms in enumerate(ROOMS[floor]) if room in rooms), None)


def wrong_room(name, target):
    """Why a file may not include another one of its floor; empty where it may."""
    here, there = level_of(name), level_of(target)
    if name.split("/")[1] == target.split("/")[1] or here is None or there is None or there < here:
        return ""
    beside = " and ".join(ROOMS[name.split("/")[0]][here])
    return f"{beside} stand side by side" if here == there else f"{target.split('/')[1]} lies above {name.split('/')[1]}"


def floors(tree, _options):
    found = []
    for name in tree.code():
        floor = name.split("/")[0]
        if floor not in FLOORS + ["tests"]:
            continue
        if floor in FLOORS and level_of(name) is None:
            found.append(f"{name}: in no room that ROOMS in tools/lib/checks.py has; known in {floor}: {', '.join(room for rooms in ROOMS[floor] for room in rooms)}")
        for number, line in enumerate(without_comments(tree.text(name)).splitlines(), 1):
            at = f"{name}:{number}"
            include = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if include:
                quoted, target = include.group(1) == '"', include.group(2)
                other = target.split("/")[0]
                if quoted and other not in FLOORS + ["tests"]:
                    found.append(f'{at}: "{target}": our own includes start at the root of the repository; others stand in <>')
                elif quoted and target not in GENERATED and not (tree.root / target).is_file():
                    found.append(f'{at}: "{target}" does not exist')
                if floor in FLOORS and (other == "tests" or other in FLOORS and FLOORS.index(other) > FLOORS.index(floor)):
                    found.append(f"{at}: {floor} may not include {target}: a floor includes itself and floors below")
                elif quoted and floor == other and floor in FLOORS and target not in GENERATED and (why := wrong_room(name, target)):
                    found.append(f"{at}: {target}: {why}")
                found += [f"{at}: {target}: {why}" for holds, forbidden, why in INCLUDE_RULES if holds(name) and forbidden.search(target)]
            elif floor in FLOORS and PRINTING.search(line) and not MAY_PRINT.search(name):
                found.append(f"{at}: prints; only the reporter, the screen, the command line and the doctor do")
    return found


# Files that the program prints, and its arguments.
FAMILIES = ("optimisation", "losses", "personal", "fairness", "selection", "robust", "attacks", "privacy", "compression", "modes")  # of methods
GENERATED_PAGES = {"configs/REFERENCE.md": ["reference"], "results/COLUMNS.md": ["columns"], "scripts/lib/report/columns.json": ["columns", "--json"],
                   **{f"docs/methods/{family}.md": ["methods", "--page", family] for family in FAMILIES}}


def reference(tree, options):
    binary, found = tree.root / "build/release/fedhive", []
    if not binary.exists():
        return ["build/release/fedhive is not built"]
    for name, arguments in GENERATED_PAGES.items():
        page = tree.root / name
        ran = subprocess.run([binary, *arguments], capture_output=True, text=True, check=False, timeout=60)
        if ran.returncode:
            found.append(f"`fedhive {' '.join(arguments)}` ended with {ran.returncode}: {ran.stderr.strip()[-300:]}")
            continue
        if options.fix:
            page.write_text(ran.stdout)
        if not page.exists() or page.read_text() != ran.stdout:
            found.append(f"{name} is out of date; tools/check --fix reference")
    return found


def without_code(text):
    text = re.sub(r"^( *)(```|~~~).*?^\1? *\2", lambda match: "\n" * match.group(0).count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"(`+)(?!`).+?\1", "", text)


def anchors(text):
    """Anchors of headings, as GitHub makes them, and explicit ones."""
    seen = defaultdict(int)
    result = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    fenceless = re.sub(r"^ *(```|~~~).*?^ *\1", "", text, flags=re.DOTALL | re.MULTILINE)
    for heading in re.findall(r"^#{1,6} +(.+?) *#* *$", fenceless, flags=re.MULTILINE):
        heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        result.add(slug if not seen[slug] else f"{slug}-{seen[slug]}")
        seen[slug] += 1
    return result


def links(tree, _options):
    found = []
    for name in tree.ending(".md"):
        text = without_code(tree.text(name))
        targets = [(match.start(), match.group(1)) for match in re.finditer(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)", text)]
        targets += [(match.start(), match.group(1)) for match in re.finditer(r"^ {0,3}\[[^\]^]+\]: *<?(\S+?)>?(?: |$)", text, flags=re.MULTILINE)]
        targets += [(match.start(), match.group(1)) for match in re.finditer(r'<(?:img|a)\b[^>]*?\b(?:src|href)="([^"]+)"', text)]
        for position, target in targets:
            if re.match(r"[a-z][a-z0-9+.-]*:", target, flags=re.IGNORECASE):
                continue
            at = f"{name}:{text.count(chr(10), 0, position) + 1}"
            path, _, anchor = target.partition("#")
            file = (tree.root / name).parent / path if path else tree.root / name
            if path.startswith("/") or not file.exists():
                found.append(f"{at}: {target}: no such file")
            elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
                found.append(f"{at}: {target}: no such heading")
    return found


def figures_(tree, options):
    return figures.check(tree.root, tree.ending(".md"), write=options.write or options.fix)


def symbols(tree, _options):
    libraries = sorted((tree.root / "build/release").rglob("*.a"))
    if not libraries:
        return ["build/release holds no library"]
    homes = defaultdict(set)
    for library in libraries:
        listed = subprocess.run(["nm", "--defined-only", "--extern-only", "--format=posix", library], capture_output=True, text=True, check=True)
        for symbol, kind in re.findall(r"^(\S+) ([TDBRGSC]) ", listed.stdout, flags=re.MULTILINE):
            homes[symbol].add(library.name)
    double = {symbol: names for symbol, names in homes.items() if len(names) > 1}
    if not double:
        return []
    readable = subprocess.run(["c++filt"], input="\n".join(double), capture_output=True, text=True, check=False).stdout.splitlines()
    return [f"{name}: defined in {' and '.join(sorted(names))}" for name, names in zip(readable, double.values())]


def words(tree, _options):
    pattern = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3]) + r")\b")
    files = tree.code() + tree.ending(".py", ".cmake", "CMakeLists.txt", ".sh", ".yaml") + shell_scripts(tree)
    found = [f"{name}:{number}: {line.strip()[:100]}" for name in dict.fromkeys(files)
             for number, line in enumerate(tree.text(name).splitlines(), 1) if pattern.search(line)]
    count = {name: document_words(tree.text(name)) for name in tree.ending(".md") if not WRITTEN_BY_PROGRAMS.search(name)}
    if (words_of_all := sum(count.values())) > MAX_WORDS:
        longest = ", ".join(f"{name} {count[name]}" for name in sorted(count, key=count.get)[:-4:-1])
        found.append(f"the documents have {words_of_all} words; {MAX_WORDS} at most: shorten one. The longest: {longest}")
    return found


# Pages that a program writes, and the history.
WRITTEN_BY_PROGRAMS = re.compile(r"^(docs/methods/\w+|configs/REFERENCE|results/COLUMNS|results/bench/\w+/table|results/sweeps/summary|CHANGELOG)\.md$")


def document_words(text):
    """The words that somebody wrote: without blocks of code, comments, tables written from files and the targets of links."""
    for not_written in (r"<!-- table:.*?<!-- /table -->", r"<!--.*?-->", r"^ *(```|~~~).*?^ *\1", r"(?<=\])\([^)]*\)"):
        text = re.sub(not_written, "", text, flags=re.DOTALL | re.MULTILINE)
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def shell_scripts(tree):
    return [name for name in tree.files if name.endswith(".sh") or "." not in Path(name).name and re.match(r"#!.*\b(ba)?sh\b", first_line(tree, name))]


def first_line(tree, name):
    with open(tree.root / name, "rb") as file:
        return file.readline(200).decode("utf-8", "replace")


def shell(tree, _options):
    found = []
    for name in tree.files:
        executable = os.access(tree.root / name, os.X_OK)
        if first_line(tree, name).startswith("#!") != executable:
            found.append(f"{name}: " + ("executable, but does not start with #!" if executable else "starts with #!, but is not executable"))
    scripts = shell_scripts(tree)
    for name in scripts:
        ran = subprocess.run(["bash", "-n", name], cwd=tree.root, capture_output=True, text=True, check=False)
        found += ran.stderr.splitlines()
    if scripts and shutil.which("shellcheck"):
        ran = subprocess.run(["shellcheck", "-x", "--format=gcc", *scripts], cwd=tree.root, capture_output=True, text=True, check=False)
        found += ran.stdout.splitlines()
    return found


def length(tree, _options):
    found = []
    for name in tree.code() + tree.ending(".py", ".sh"):
        lines = tree.text(name).count("\n")
        if not lines and name.endswith(CODE):
            found.append(f"{name}: is empty; remove it")
        if lines > MAX_LINES:
            found.append(f"{name}: {lines} lines; {MAX_LINES} at most, 250 are better: give a part of it a name and a file")
    if "README.md" in tree.files and (lines := tree.text("README.md").count("\n")) > MAX_README:
        found.append(f"README.md: {lines} lines; {MAX_README} at most: move a part of it to docs/")
    return found


def site(tree, _options):
    if not (tree.root / ".deps/site/mkdocs").is_dir():
        return ["MkDocs is not installed: scripts/setup --site"]
    made = subprocess.run([tree.root / "tools/site"], capture_output=True, text=True, check=False)
    return [] if made.returncode == 0 else (made.stdout + made.stderr).splitlines()


def cuda(tree, _options):
    return tidy.cuda_syntax(tree)


CHECKS = {"format": format_, "floors": floors, "links": links, "words": words, "shell": shell, "length": length, "figures": figures_,
          "reference": reference, "symbols": symbols, "site": site, "cuda": cuda, "tidy": tidy_}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    options = parser.parse_args()
    if unknown := set(options.checks) - set(CHECKS):
        parser.error(f"unknown check: {', '.join(unknown)}")
    tree = Tree(options.root.resolve())
    failed = 0
    chosen = [name for name in CHECKS if name in (options.checks or CHECKS)]
    for name in chosen:
        started = time.monotonic()
        findings = CHECKS[name](tree, options)
        took = f" ({time.monotonic() - started:.0f} s)" if time.monotonic() - started >= 1.0 else ""
        warnings = [finding for finding in findings if isinstance(finding, figures.Warned)]
        findings = [finding for finding in findings if finding not in warnings]
        print(*(f"warning {warning}\n" for warning in warnings), sep="", end="")
        if findings:
            failed += 1
            print(f"failed {name}{took}", *("  " + line for finding in findings for line in finding.splitlines()), sep="\n", flush=True)
        else:
            print(f"ok {name}{took}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
