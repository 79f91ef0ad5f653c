"""What MkDocs is told of the repository: its documents are pages under their own paths, pictures go along, and a link to a source file, a notebook, a table
or a folder leads to a page that shows it. A link that leads nowhere is a warning, which --strict makes an error."""
import functools
import json
import os
import re
import subprocess
from pathlib import Path, PurePosixPath

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[3]
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\()(?!https?://|mailto:|#)([^()\s#]+)(#[^()\s]*)?(\))")
FENCED = re.compile(r"^( *)(?:```|~~~).*?^\1(?:```|~~~)[^\n]*$", re.DOTALL | re.MULTILINE)
PICTURES = (".png", ".svg")
SHOWN = 200_000  # bytes of a file that a page shows
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".cu": "cpp", ".cuh": "cpp", ".py": "python", ".sh": "bash", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".cmake": "cmake"}


def github_slug(text, separator):
    """An anchor as GitHub makes it of a heading, so that links hold in both places."""
    text = re.sub(r"<[^>]*>", "", text).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", separator)


@functools.cache
def tracked():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


def links_of(text):
    """The text's parts outside fenced code, with the place of each."""
    at = 0
    for code in FENCED.finditer(text):
        yield at, text[at:code.start()]
        at = code.end()
    yield at, text[at:]


def resolved(page, target):
    """The path in the repository that a link of a page means."""
    return os.path.normpath(PurePosixPath(page).parent / target)


def fence_of(text):
    longest = max((len(found) for found in re.findall(r"`{3,}", text)), default=2)
    return "`" * (longest + 1)


def page_of_notebook(notebook):
    """A notebook's text, and its code in fences. It has no outputs."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        fence = fence_of(text)
        parts.append(text if cell["cell_type"] == "markdown" else f"{fence}python\n{text}\n{fence}")
    return "\n\n".join(parts) + "\n"


def page_of(name):
    """(the page's path, its text) for a source file or a folder that a document links to."""
    path = ROOT / name
    if path.is_dir():
        entries = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in path.iterdir() if not entry.name.startswith("."))
        return f"{name}/folder.md", f"# {name}/\n\n" + "\n".join(f"- `{entry}`" for entry in entries) + "\n"
    if path.suffix == ".ipynb":
        return f"{name}.md", page_of_notebook(json.loads(path.read_text(encoding="utf-8")))
    data = path.read_bytes()
    text = data[:SHOWN].decode("utf-8", errors="replace")
    left = f"\n\nThe first {SHOWN:,} of {len(data):,} bytes.\n" if len(data) > SHOWN else "\n"
    fence = fence_of(text)
    return f"{name}.md", f"# {name}\n\n{fence}{LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n{fence}{left}"


def destination(name):
    """Where a link to this path of the repository leads on the site, or None where there is no such path."""
    path = ROOT / name
    if path.is_dir():
        return f"{name}/README.md" if (path / "README.md").is_file() else f"{name}/folder.md"
    if not path.is_file() or name.startswith(".."):
        return None
    return name if path.suffix in (".md", *PICTURES) else f"{name}.md"


def on_files(files, config):
    names = [name for name in sorted(tracked()) if not name.startswith("tests/fuzz/corpus")]
    documents = [name for name in names if name.endswith(".md")]
    for name in documents + [name for name in names if name.endswith(PICTURES)]:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    shown = set()
    for document in documents:
        for _, text in links_of((ROOT / document).read_text(encoding="utf-8")):
            for _, target, _, _ in LINK.findall(text):
                name = resolved(document, target)
                to = destination(name)
                if to and to not in documents and not to.endswith(PICTURES) and to not in shown:
                    shown.add(to)
                    files.append(File.generated(config, to, content=page_of(name)[1]))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri not in tracked():
        return markdown  # a page made above: code, no links

    def renewed(match):
        start, target, anchor, end = match.groups()
        to = destination(resolved(page.file.src_uri, target))
        if to is None:
            return match.group(0)  # MkDocs says that it is not there
        return start + os.path.relpath(to, PurePosixPath(page.file.src_uri).parent) + (anchor or "") + end

    parts = []
    at = 0
    for place, text in links_of(markdown):
        parts += [markdown[at:place], LINK.sub(renewed, text)]
        at = place + len(text)
    return "".join(parts)
