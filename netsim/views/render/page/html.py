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
    content : mapping
        `kind` (`runs` or `sweep`), `title`, and `runs`, each with `label`, `notices` and `panels`;
        `live`: how far a run is that goes on.
    """
    make_folder(path.parent)
    write_text(path, page(content))


def is_page(head: bytes) -> bool:
    """Return whether a file that begins so is a page that was written here."""
    return _MADE_BY in head[:MOST_HEAD_BYTES]


def page(content: Mapping[str, Any]) -> str:
    """The text of a page; one whose content has `live` loads itself again, see `start.js`."""
    runs = content["runs"]
    outline = {
        "kind": content["kind"],
        "runs": [{"label": run["label"], "notices": run["notices"]} for run in runs],
    }
    if "live" in content:
        outline["live"] = content["live"]
    scripts = [*SCRIPTS, *sorted(f"marks/{p.name}" for p in (ASSETS / "marks").glob("*.js"))]
    parts = {
        "title": html.escape(str(content["title"])),
        "style": "\n".join(_asset(name) for name in STYLES),
        "script": "\n".join(f"<script>\n{_asset(name)}</script>" for name in scripts),
        "start": f"<script>\n{_asset('start.js')}</script>",
        "outline": _json(outline).replace("<", "\\u003c"),
        "data": "\n".join(
            f'<script type="text/plain" id="run-{k}">{_packed(run["panels"])}</script>'
            for k, run in enumerate(runs)
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
