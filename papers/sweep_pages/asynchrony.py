"""Write papers/asynchrony/README.md: what age, loss and three networks leave of a method's gain."""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import netsim
from netsim import figures as plot_style
from papers.results.leads import Difference, Word, word
from papers.results.tables import RESULTS
from papers.sweep_pages import age_figures, figures, kept
from papers.sweep_pages.age_study import (
    ALONE,
    DATA,
    GLOBAL,
    LATENCY,
    LIMIT,
    LOSS,
    NAMES,
    NETWORKS,
    RATES,
    SWEEPS,
    Study,
    best_rates,
    change,
    foretold,
    holding_together,
    lead,
    mean,
)
from papers.sweep_pages.markdown import played_line, row
from papers.sweep_pages.sentences import listed, spelled
from papers.sweep_pages.sources import scenario_of

FOLDER = RESULTS / "asynchrony"
PAGE, TEXT = FOLDER / "README.md", FOLDER / "_text.md"


def collect(runs: Path) -> None:
    """Keep the numbers of the sweeps that a folder has."""
    for name in SWEEPS:
        if (runs / name).is_dir():
            kept.collect(name, runs)


def write() -> None:
    """Write the page and its figures from the numbers that are kept, once all are."""
    sweeps = {name: kept.kept(name) for name in SWEEPS}
    whole = {name: sweep for name, sweep in sweeps.items() if sweep is not None}
    if len(whole) < len(sweeps):
        return
    study = Study(whole)
    PAGE.write_text(text(study), encoding="utf-8")
    with plot_style.style():
        figures.save(age_figures.leads_by_age(study), FOLDER / "leads.png")
        figures.save(age_figures.foretold(list(foretold(study))), FOLDER / "foretold.png")


def text(study: Study) -> str:
    """The page: the written text, with a table or sentence wherever a line names one."""
    parts = {
        "answer": answer(study),
        "rates": rates(study),
        "ideal": ideal(study),
        "latency": dial(study, LATENCY, "{} s"),
        "loss": dial(study, LOSS, "{:.0%}"),
        "networks": networks(study),
        "links": links(study),
        "global": against_global(study),
        "foretold": foretold_errors(study),
        "limited": limited(study),
        "corrected": corrected(study),
        "seeds": [seeds(study)],
        "steps": [steps(study)],
        "played": [" ".join(["-", name, played_line(s)]) for name, s in study.sweeps.items()],
    }
    lines: list[str] = []
    for line in TEXT.read_text(encoding="utf-8").splitlines():
        name = line.removeprefix("{").removesuffix("}")
        lines += parts[name] if line == f"{{{name}}}" else [line]
    return "\n".join(lines) + "\n"


def seeds(study: Study) -> str:
    """Sentence on how many seeds each sweep was played with."""
    played: dict[int, list[str]] = {}
    for name, sweep in study.sweeps.items():
        if name != RATES:
            runs = next(iter(next(iter(sweep.rows.values())).values()))
            played.setdefault(len(runs), []).append(name.removeprefix("asynchrony_"))
    told = [f"{count} seeds of {listed(names)}" for count, names in sorted(played.items())[::-1]]
    return f"Played are {listed(told)}."


def steps(study: Study) -> str:
    """Sentence on the local steps of methods that wait for answers, the later these are."""
    late, told = study.values(LATENCY), []
    for method in WAITING:
        taken = [mean(study.runs(LATENCY, "digits", x, method), "local_steps") for x in late]
        each = [f"{count / NODES:.0f}" for count in taken]
        told.append(f"{method} takes {', '.join(each[:-1])} and {each[-1]}")
    delays = f"{', '.join(late[:-1])} and {late[-1]} s"
    return f"Local steps a node at delays of {delays} (digits): {'; '.join(told)}."


def rates(study: Study) -> Iterator[str]:
    """Accuracy on validation samples by learning rate, mean over both data sets."""
    tried = study.values(RATES)
    yield row(["method", *tried])
    yield row(["---"] * (1 + len(tried)))
    for method in [ALONE, *study.methods]:
        found = best_rates(study)[method]
        cells = [f"{100 * x:.1f}" for x in found.values()]
        top = max(found, key=lambda rate: found[rate])
        marked = [f"**{c}**" if rate == top else c for rate, c in zip(tried, cells, strict=True)]
        yield row([method, *marked])


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    yield row(heads)
    yield row(["---"] * len(heads))
    for line in lines:
        yield row(line)


def ideal(study: Study) -> Iterator[str]:
    """Accuracy, lead over training alone and over FedAvg, over wires that delay nothing."""
    heads = ["method"]
    for name in DATA.values():
        heads += [f"{name}: accuracy [%]", "lead [pp]", "over fedavg [pp]"]

    def line(method: str) -> list[str]:
        cells = [method]
        for data in DATA:
            runs = study.ideal(data, method)
            is_global = method in (GLOBAL, ALONE)
            over = "-" if is_global else spelled(change(runs, study.ideal(data, GLOBAL)))
            ahead = "-" if method == ALONE else spelled(lead(runs))
            cells += [f"{100 * mean(runs, 'accuracy'):.1f}", ahead, over]
        return cells

    return _table(heads, map(line, [ALONE, *study.methods]))


WAITING, NODES = ("ad_psgd", "kd_pdfl"), 20
SIGNS: dict[Word, str] = {"holds": "+", "behind": "-", "not clear": "o"}


def answer(study: Study) -> Iterator[str]:
    """Signs of each method's leads by place, one a data set."""
    places = {
        **{f"{x} s late": (LATENCY, x) for x in study.values(LATENCY)[1:]},
        **{f"{float(x):.0%} lost": (LOSS, x) for x in study.values(LOSS)[1:]},
        **{NAMES[network]: (network, "") for network in NETWORKS},
    }

    def line(method: str) -> list[str]:
        cells = [method, " ".join(SIGNS[word(lead(study.ideal(d, method)))] for d in DATA)]
        for sweep, value in places.values():
            each = [study.runs(sweep, data, value, method) for data in DATA]
            cells.append(" ".join(SIGNS[word(lead(runs))] for runs in each))
        return cells

    return _table(["method", "wires", *places], map(line, study.methods))


def corrected(study: Study) -> Iterator[str]:
    """Count the leads that hold one by one, and those that hold all together."""
    tables = {"age": [LATENCY], "loss": [LOSS], "networks": NETWORKS}

    def line(title: str) -> list[str]:
        each = [
            study.runs(sweep, data, value, method)
            for sweep in tables[title]
            for value in study.values(sweep)
            if (sweep, value) != (LOSS, "0")
            for data in DATA
            for method in study.methods
        ]
        single, whole = [word(lead(runs)) for runs in each], holding_together(each)
        words: list[Word] = ["holds", "behind"]
        kept = {w: [ok for one, ok in zip(single, whole, strict=True) if one == w] for w in words}
        return [title, str(len(each)), *(f"{len(k)}, {sum(k)}" for k in kept.values())]

    heads = ["leads", "in all", "above zero: each, together", "below zero: each, together"]
    return _table(heads, map(line, tables))


def dial(study: Study, sweep: str, name: str) -> Iterator[str]:
    """The lead at each value of a dial.

    Parameters
    ----------
    study : Study
    sweep : str
    name : str
        A format of a value.
    """
    turned = study.values(sweep)
    for data, title in DATA.items():
        yield from ("", f"{title}: lead over training alone [pp]", "")
        heads = ["method", *(name.format(float(x)).replace(".0 s", " s") for x in turned)]
        lines = (
            [m, *(_marked(lead(study.runs(sweep, data, x, m))) for x in turned)]
            for m in study.methods
        )
        yield from _table(heads, lines)


def _marked(difference: Difference) -> str:
    """A lead, bold where its interval is above zero, in brackets where it is below."""
    found = spelled(difference)
    return {"holds": f"**{found}**", "behind": f"({found})"}.get(word(difference), found)


def limited(study: Study) -> Iterator[str]:
    """Changes of accuracy by an age limit of three mean intervals, of the methods that have one."""
    late = study.values(LIMIT)
    heads = ["method", *(f"{title}, {x} s" for title in DATA.values() for x in late)]

    def line(method: str) -> list[str]:
        return [
            method,
            *(
                _marked(change(study.runs(LIMIT, d, x, method), study.runs(LATENCY, d, x, method)))
                for d in DATA
                for x in late
            ),
        ]

    return _table(heads, map(line, limited_methods()))


def limited_methods() -> list[str]:
    """The methods to which `limit.toml` gives an age limit."""
    entries = netsim.load(scenario_of(LIMIT)).stated["algorithm"]
    return [entry["kind"] for entry in entries if entry.get("max_age_s", 1e9) < 1e9]


def networks(study: Study) -> Iterator[str]:
    """The lead over each network, and over the wires that delay nothing."""
    for data, title in DATA.items():
        yield from ("", f"{title}: lead over training alone [pp]", "")
        heads = ["method", "wires", *(NAMES[network] for network in NETWORKS)]
        lines = (
            [
                method,
                _marked(lead(study.ideal(data, method))),
                *(_marked(lead(study.runs(n, data, "", method))) for n in NETWORKS),
            ]
            for method in study.methods
        )
        yield from _table(heads, lines)


def links(study: Study) -> Iterator[str]:
    """Shares delivered and used, and age at use, by network."""
    heads = ["method"]
    for network in NETWORKS:
        heads += [f"{NAMES[network]}: delivered, used [%]", "age at use [wake-ups]"]

    def line(method: str) -> list[str]:
        cells = [method]
        for network in NETWORKS:
            each = [study.runs(network, data, "", method) for data in DATA]
            shares = [
                " and ".join(_percent(mean(runs, share)) for runs in each)
                for share in ("delivered_share", "used_share")
            ]
            ages = [study.age(network, data, "", method) for data in DATA]
            cells += ["; ".join(shares), " and ".join(_digits(x) for x in ages)]
        return cells

    return _table(heads, map(line, study.methods))


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.0f}"


def _digits(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2g}"


def against_global(study: Study) -> Iterator[str]:
    """Methods that are ahead of FedAvg, by place and data set."""
    places = [("wires", LATENCY, "0"), *((NAMES[n], n, "") for n in NETWORKS)]
    for data, title in DATA.items():
        for name, sweep, value in places:
            found: dict[Word, list[str]] = {}
            for method in study.methods:
                if method != GLOBAL:
                    here = study.runs(sweep, data, value, method)
                    over = change(here, study.runs(sweep, data, value, GLOBAL))
                    found.setdefault(word(over), []).append(f"{method} ({spelled(over)})")
            heads: dict[Word, str] = {
                "holds": "ahead",
                "behind": "behind",
                "not clear": "not clear",
            }
            told = [f"{head}: {listed(found[w])}" for w, head in heads.items() if w in found]
            yield f"- {title}, {name}: {'; '.join(told)}."


def foretold_errors(study: Study) -> Iterator[str]:
    """Distances of the foretold leads from those found, by network and dial."""
    told = list(foretold(study))

    def line(network: str) -> list[str]:
        of_network = [x for x in told if x.network == network]
        cells = [NAMES[network]]
        for way in ("by_age", "by_loss"):
            both = [
                (getattr(x, way), x.found) for x in of_network if not math.isnan(getattr(x, way))
            ]
            errors = [guess - found.mean for guess, found in both]
            within = sum(abs(g - f.mean) <= (f.half or 0.0) for g, f in both)
            cells += [
                f"{100 * math.fsum(map(abs, errors)) / len(errors):.1f}",
                f"{100 * math.fsum(errors) / len(errors):+.1f}",
                f"{within} of {len(both)}",
            ]
        return cells

    heads = ["network"]
    for way in ("by age", "by loss"):
        heads += [f"{way}: mean distance [pp]", "too high by [pp]", "within the interval"]
    return _table(heads, map(line, NETWORKS))
