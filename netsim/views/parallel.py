"""Swept values and what came of them, for parallel coordinates."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from netsim.scenario.labels import shown, toml_text
from netsim.units import is_number
from netsim.views import OnPage, Panel, Shown
from netsim.views.gathering import names
from netsim.views.gathering.numbers import rounded_list
from netsim.views.gathering.sweep_tables import SweepTables, described
from netsim.views.gathering.swept import telling_apart, value_label, varied_keys

TITLE = "Values and results"
PLACE = 40

MOST_LINES = 2000
_RESULTS = 3


def of_sweep(sweep: SweepTables) -> Shown | None:
    """Return axes and one line per point and algorithm; None where fewer than two keys vary.

    An axis has numbers, and is logarithmic where they span much, or has words with their order.
    """
    table = [(line.values, line.algorithm, line.estimates) for line in sweep.lines][:MOST_LINES]
    varied = varied_keys([values for values, _, _ in table])
    if len(varied) < 2:
        return None
    axes = [_axis(key, [values.get(key) for values, _, _ in table]) for key in varied]
    results = 0
    for name in sweep.measures:
        about = described(name)
        cells = [estimates.get(name) for _, _, estimates in table]
        means = [None if c is None else about["scale"] * c.mean for c in cells]
        if results == _RESULTS or len(set(means)) < 2:
            continue
        results += 1
        title = f"{about['title']} [{about['unit']}]" if about["unit"] else about["title"]
        axes.append({"title": title, "values": _short(means), "is_result": True})
    scores = {(str(t["point"]), t["algorithm"]): t.get("score") for t in sweep.trials}
    if any(score is not None for score in scores.values()):
        line_scores = [scores.get((line.point, line.algorithm)) for line in sweep.lines][
            :MOST_LINES
        ]
        axes.append({"title": "score", "values": _short(line_scores), "is_result": True})
    labels = [
        f"{sweep.point_names[line.point]}, {names.method(line.algorithm)}"
        for line in sweep.lines[:MOST_LINES]
    ]
    return Shown([Panel(OnPage("parallel", {"axes": axes, "labels": labels}))])


def _axis(key: str, values: list[Any]) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    if all(map(is_number, known)):
        low, high, axis = min(known), max(known), names.key(key, known)
        drawn = [None if value is None else value / axis.per for value in values]
        return {
            "title": axis.title,
            "values": rounded_list([math.nan if v is None else v for v in drawn], 12),
            "is_log": low > 0 and high / low >= 20,
        }
    words_by_value = dict(zip(map(toml_text, known), words_of(known), strict=True))
    words = list(dict.fromkeys(words_by_value.values()))
    places = [
        None if value is None else words.index(words_by_value[toml_text(value)]) for value in values
    ]
    return {"title": names.key(key).title, "values": places, "words": words}


def words_of(values: Sequence[Any]) -> list[str]:
    """Swept values in a word each, or in as many as tell them apart."""
    return telling_apart(values, (_word_of, value_label))


def _word_of(value: Any) -> str:
    """A swept value in a word: of a component its kind."""
    if isinstance(value, Mapping) and "kind" in value:
        return str(value["kind"])
    return value if isinstance(value, str) else str(shown(value))


def _short(values: list[Any]) -> list[Any]:
    return [None if value is None else rounded_list([value], 5)[0] for value in values]
