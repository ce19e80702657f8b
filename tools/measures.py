"""Write the table of measures in docs/sweeps.md: `python tools/measures.py`.

They are the columns of `netsim sweep`, `netsim compare`, `sweep.csv` and `comparison.csv`, and the
words of `--show`. `tests/papers/test_sweep_pages.py` holds the table against the program.
"""

from pathlib import Path

from netsim.recording.summary_fields import DEFAULT, MEASURES, meaning

PAGE = Path(__file__).resolve().parents[1] / "docs" / "sweeps.md"
BEGIN, END = "<!-- written by tools/measures.py -->", "<!-- end -->"


def table() -> str:
    """All measures: their names, the columns' titles with units, what they count."""
    lines = ["| `--show` | column | unit | what it counts |", "|---|---|---|---|"]
    for name, measure in MEASURES.items():
        shown = f"`{name}`" + (" *" if name in DEFAULT else "")
        lines.append(f"| {shown} | {measure.title} | {measure.unit} | {meaning(name)} |")
    return "\n".join(lines)


def written(text: str) -> str:
    """The page with the table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def main() -> None:
    """Write the table."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
