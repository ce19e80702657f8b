"""Sentences about a sweep whose numbers and directions are worked out.

A difference has a direction where its 95 % interval over seeds leaves out zero. Where it does not,
the sentence says that it is not clear, whatever the sign of the mean.
"""

from collections.abc import Mapping, Sequence

from netsim import MEASURES, spread
from papers.results.leads import Difference, word
from papers.sweep_pages.kept import Sweep

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Told:
    """Result of one algorithm of a sweep.

    Parameters
    ----------
    sweep : Sweep
    algorithm : str
    names : mapping of str to str
        What each point is called in a sentence.
    """

    def __init__(self, sweep: Sweep, algorithm: str, names: Mapping[str, str]) -> None:
        self._sweep, self._algorithm, self._names = sweep, algorithm, names

    @property
    def measures(self) -> list[str]:
        """Those that it has at every point."""
        lines = [x for x in self._sweep.lines if x.algorithm == self._algorithm]
        return [m for m in MEASURES if all(m in x.estimates for x in lines)]

    def mean(self, point: str, measure: str = "accuracy") -> str:
        """A measure's mean over seeds, with its unit."""
        cell = self._sweep.line(point, self._algorithm).estimates[measure]
        unit = MEASURES[measure].unit.replace("#", "")
        return f"{MEASURES[measure].spelled(cell.mean)} {unit}".strip()

    def difference(self, point: str, to: str, measure: str = "accuracy") -> Difference:
        """A measure at one point less that at another, paired by seed.

        Parameters
        ----------
        point, to : str
        measure : str
        """
        here, there = (self._sweep.rows[p][self._algorithm] for p in (point, to))
        both = [here[s][measure] - there[s][measure] for s in here if s in there]
        return Difference(*spread(both))

    def change(self, what: str, to: str, point: str) -> str:
        """Describe the change of accuracy from one point to another.

        Parameters
        ----------
        what : str
            What changes, with a capital: the subject of the sentence.
        to, point : str
            The points compared: from `to` to `point`.
        """
        found = self.difference(point, to)
        means = f"{self.mean(to).removesuffix(' %')} to {self.mean(point)}"
        gain, cost = spelled(found, sign=""), spelled(turned(found), sign="")
        told = {
            "holds": f"{what} gains {gain} points of accuracy ({means}).",
            "behind": f"{what} costs {cost} points of accuracy ({means}).",
        }
        if spelled(found).strip("+-") in ("0.0", "0.0 ± 0.0"):
            return f"{what} leaves accuracy as it is ({means})."
        unclear = (
            f"{what} changes accuracy by {spelled(found)} points ({means}): {doubt(found.pairs)}."
        )
        return told.get(word(found), unclear)

    def leads(self) -> str:
        """Describe the points at which it is ahead of local training of as many steps."""
        by_word: dict[str, list[str]] = {}
        pairs = 0
        for point, name in self._names.items():
            cell = self._sweep.line(point, self._algorithm).estimates["lead"]
            found = Difference(cell.mean, cell.half_width, cell.size)
            pairs = max(pairs, cell.size)
            by_word.setdefault(word(found), []).append(f"{name} ({spelled(found)})")
        heads = {
            "holds": "ahead at {}",
            "behind": "behind at {}",
            "not clear": f"{doubt(pairs)} at {{}}",
            "one seed": "one seed says at {}",
        }
        parts = [head.format(listed(by_word[w])) for w, head in heads.items() if w in by_word]
        return f"Against local training of as many steps [pp]: {'; '.join(parts)}."


def doubt(seeds: int) -> str:
    """That a direction is not clear."""
    return f"not clear from {NUMBERS[seeds]} seed{'s' * (seeds > 1)}"


def turned(difference: Difference) -> Difference:
    """The same the other way round."""
    return Difference(-difference.mean, difference.half, difference.pairs)


def spelled(difference: Difference, sign: str = "+", measure: str = "lead") -> str:
    """A difference with half its interval, in its measure's unit.

    Parameters
    ----------
    difference : Difference
    sign : str
    measure : str
    """
    return MEASURES[measure].spelled(difference.mean, difference.half, sign)


def listed(parts: Sequence[str]) -> str:
    """Parts of a sentence: `a, b and c`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
