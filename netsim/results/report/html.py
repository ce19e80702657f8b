"""The page as one file: its template, styles and scripts from `assets`, its numbers packed.

Numbers are JSON, of each run or sweep for itself, compressed with gzip and written as base64: the
page unpacks a run when it is looked at.
"""

import base64
import gzip
import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netsim.recording.whole_files import make_folder, write_text

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("vendor/uPlot.iife.min.js", "page.js", "charts.js", "table.js")
MOST_HEAD_BYTES = 200
"""Within so many bytes a page says what it is."""
_MADE_BY = b'<meta name="generator" content="netsim">'
STYLES = ("vendor/uPlot.min.css", "page.css")


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write a page, whole.

    Parameters
    ----------
    path : Path
    content : mapping
        `kind` (`runs` or `sweep`), `title`, and `runs`, each with `label`, `notices` and `panels`.
    """
    make_folder(path.parent)
    write_text(path, page(content))


def is_page(head: bytes) -> bool:
    """Return whether a file that begins so is a page that was written here."""
    return _MADE_BY in head[:MOST_HEAD_BYTES]


def pieces(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a page that depend on its runs.

    Returns
    -------
    dict
        `title`; `outline`, what the page has at hand at once; `data`, of each run its numbers,
        packed.
    """
    runs = content["runs"]
    outline = {
        "kind": content["kind"],
        "runs": [{"label": run["label"], "notices": run["notices"]} for run in runs],
    }
    data = [_packed(run["panels"]) for run in runs]
    return {"title": str(content["title"]), "outline": outline, "data": data}


def page(content: Mapping[str, Any], is_live: bool = False) -> str:
    """The text of a page; one that is live asks the server that it came from for what is new."""
    found = pieces(content)
    scripts = [*SCRIPTS, *sorted(f"panels/{p.name}" for p in (ASSETS / "panels").glob("*.js"))]
    parts = {
        "title": html.escape(found["title"]),
        "sources": " connect-src 'self';" if is_live else "",
        "style": "\n".join(_asset(name) for name in STYLES),
        "script": "\n".join(f"<script>\n{_asset(name)}</script>" for name in scripts),
        "start": f"<script>\n{_asset('live.js' if is_live else 'start.js')}</script>",
        "outline": _json(found["outline"]).replace("<", "\\u003c"),
        "data": "\n".join(
            f'<script type="text/plain" id="run-{k}">{packed}</script>'
            for k, packed in enumerate(found["data"])
        ),
    }
    text = _asset("page.html")
    for name, part in parts.items():
        before, mark, after = text.partition(f"<!-- {name} -->")
        text = before + part + after if mark else text.replace(f"{{{{{name}}}}}", part)
    return text


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _packed(value: Any) -> str:
    packed = gzip.compress(_json(value).encode(), compresslevel=6, mtime=0)
    return base64.b64encode(packed).decode("ascii")
