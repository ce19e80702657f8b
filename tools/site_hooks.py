"""Hooks of MkDocs, so that the same Markdown works on a forge and as a site.

Links to files outside of docs/ lead to pages: documents and notebooks of the repository become
pages of the site, other files pages that show their text. Formulae become MathML when the site is
built, which browsers draw by themselves. Pages that `nav` of mkdocs.yml does not name come last.
"""

import html
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "index.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/README.md": "examples.md",
    **{
        path: path
        for path in (
            page.relative_to(ROOT).as_posix()
            for pattern in ("*.md", "*/README.md")
            for page in (ROOT / "papers").glob(pattern)
        )
    },
    **{
        f"examples/{page.name}": f"notebooks/{page.stem}.md"
        for page in sorted((ROOT / "examples").glob("*.ipynb"))
    },
}
"""Documents outside of docs/, and the pages that they are."""

LANGUAGES = {".py": "python", ".toml": "toml", ".cff": "yaml", ".yml": "yaml"}
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
MATHS = re.compile(
    r'<(span|div) class="arithmatex">\s*\\[(\[](.*?)\\[)\]]\s*</\1>', flags=re.DOTALL
)


def source_of(uri: str) -> Path:
    """The file that a page is written in, below the repository's root."""
    for document, page in DOCUMENTS.items():
        if uri == page and document != "README.md":
            return Path(document)
    return Path("docs") / uri


def page_of(path: str) -> str | None:
    """The page that a file of the repository is; None for one that is no page."""
    if path in DOCUMENTS:
        return DOCUMENTS[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.endswith(".png"):
        return path
    return f"source/{path}.md" if (ROOT / path).is_file() else None


def links(uri: str, markdown: str) -> Iterator[str]:
    """Files of the repository that a page links to."""
    for match in LINK.finditer(markdown):
        yield os.path.normpath(source_of(uri).parent / match[1])


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages for documents and files outside of docs/."""
    for document, uri in DOCUMENTS.items():
        if files.get_file_from_path(uri) is None:
            text = (ROOT / document).read_text(encoding="utf-8")
            text = notebook_page(text) if document.endswith(".ipynb") else text
            files.append(File.generated(config, uri, content=text))
    pages = [page.src_uri for page in files.documentation_pages()]
    named = set(in_nav(config.nav))
    more: list[Any] = [uri for uri in pages if uri not in named]
    config.nav = [*(config.nav or []), *([{"More": more}] if more else [])]
    wanted = {
        path
        for page in files.documentation_pages()
        for path in links(page.src_uri, page.content_string)
    }
    for path in sorted(wanted):
        uri = page_of(path)
        if uri is not None and uri.startswith("source/"):
            files.append(File.generated(config, uri, content=shown(path)))
        elif uri == path and path.endswith(".png"):
            files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    return files


def in_nav(nav: Any) -> Iterator[str]:
    """All pages that a list of mkdocs.yml names."""
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav or ():
            yield from in_nav(entry)


def notebook_page(text: str) -> str:
    """The Markdown of a notebook: its words, its code, and what its cells have shown."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [output_of(output) for output in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def output_of(output: dict[str, Any]) -> str:
    """An output of a cell: a picture, else a table, else its text."""
    data = output.get("data", {})
    if "image/png" in data:
        picture = "".join(data["image/png"]).replace("\n", "")
        return f'<img alt="Figure of the cell above" src="data:image/png;base64,{picture}">'
    if "text/html" in data:
        table = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
        return re.sub(r"\s*\n\s*", "", table)
    text = "".join(output.get("text") or data.get("text/plain", ""))
    return f"```text\n{text.rstrip()}\n```"


@cache
def shown(path: str) -> str:
    """A page that shows a file."""
    language = LANGUAGES.get(Path(path).suffix, "text")
    text = (ROOT / path).read_text(encoding="utf-8")
    return f"# `{path}`\n\n``````{language}\n{text.rstrip()}\n``````\n"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links out of docs/ to the pages that stand for them."""
    here = page.file.src_uri
    if here.startswith("source/"):
        return markdown

    def led(match: re.Match[str]) -> str:
        path = os.path.normpath(source_of(here).parent / match[1])
        target = page_of(path)
        if target is None:
            return match[0]
        return os.path.relpath(target, Path(here).parent) + (match[2] or "")

    return LINK.sub(led, markdown)


def on_page_content(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write formulae in MathML."""
    return MATHS.sub(
        lambda match: convert(
            html.unescape(match[2]), display="block" if match[1] == "div" else "inline"
        ),
        text,
    )
