"""The table of a comparison as LaTeX: its numbers are those of the terminal, and it compiles."""

import re
import shutil
import subprocess

import pytest

from netsim.views import Column, Printed
from netsim.views.render.latex import latex_of

SPECIAL = r"50 % & $ # _ {x} ~ ^ \ <a> | Δ ± ×"

PRINTED = Printed(
    {"point": ["p_1", "p_1", SPECIAL], "algorithm": ["a", "b", "a"], "seeds": ["3", "2 of 3", "1"]},
    [
        Column("accuracy\n%", ["17.7 ± 5.9", "1,234.5 ± 0.1 (2 of 3)", "-"]),
        Column("Δ\npp", ["", "-0.3 ± 1e-05", "+2e06"], keep_with_previous=True),
        Column("state", ["done", "done", SPECIAL]),
    ],
    "mean over seeds ± half its 95 % interval\nΔ: to p_1",
)


def test_it_has_the_rows_and_the_numbers_that_are_printed():
    lines = latex_of(PRINTED).splitlines()
    assert lines[:2] == ["% mean over seeds ± half its 95 % interval", "% Δ: to p_1"]
    assert lines[2:6] == [
        r"\begin{tabular}{llrrrr}",
        r"\toprule",
        r"point & algorithm & seeds & accuracy [\%] & $\Delta$ [pp] & state \\",
        r"\midrule",
    ]
    assert lines[6] == r"p\_1 & a & $3$ & $17.7 \pm 5.9$ &  & done \\"
    assert lines[7] == (
        r" & b & 2 of 3 & $1{,}234.5 \pm 0.1$ (2 of 3) & $-0.3 \pm 1 \times 10^{-5}$ & done \\"
    )
    assert lines[8].split(" & ")[-2] == r"$+2 \times 10^{6}$"
    assert lines[9:] == [r"\bottomrule", r"\end{tabular}"]


@pytest.mark.parametrize("text", "%&$#_{}~^\\<>|Δ±×")
def test_no_character_that_latex_reads_as_its_own_is_left(text):
    cell = latex_of(Printed({"run": [text]}, [], "")).splitlines()[-3].removesuffix(r" \\")
    assert re.fullmatch(r"\\[%&$#_{}]|\\text\w+\{\}|\$(\\\w+|[<>|])\$", cell)


@pytest.mark.parametrize("text", ["[1, 2]", "[10pt]", "*", "*x"])
def test_no_row_begins_with_an_argument_of_the_command_above_it(text):
    lines = latex_of(Printed({"run": [text, text]}, [], "")).splitlines()
    assert lines.count(f"{{}}{text} \\\\") == 2
    titled = latex_of(Printed({text: ["a"]}, [], "")).splitlines()
    assert titled[2] == f"{{}}{text} \\\\"


@pytest.mark.parametrize(
    ("text", "escaped"), [("a--b", "a-{}-b"), ("---", "-{}-{}-"), ("a-b", "a-b")]
)
def test_hyphens_stay_hyphens(text, escaped):
    assert f"{escaped} \\\\" in latex_of(Printed({"run": [text]}, [], "")).splitlines()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
def test_it_compiles(tmp_path):
    odd = Printed({"run": ["[1, 2]", "*", "a--b"]}, [], "")
    body = latex_of(PRINTED) + latex_of(odd)
    text = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{body}"
    (tmp_path / "t.tex").write_text(text + "\\end{document}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert made.returncode == 0, made.stdout.decode("utf-8", "replace")[-2000:]
