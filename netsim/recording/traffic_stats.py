"""Traffic of a run: what was sent, and how long that took.

It is counted while the run goes on, with or without a message log and tensor work.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.recording.parquet_parts import Rows
from netsim.recording.schema import LOST, OUTCOMES
from netsim.units import NS_PER_S, to_s

_DELIVERED = OUTCOMES.index("delivered")
_ARRIVED = (_DELIVERED, OUTCOMES.index("partial"))
_DROPPED_BITS = 45
"""Of a float64's mantissa of 52 bits; with the others there are 128 classes an octave."""


class Traffic:
    """Counts messages by kind and outcome, their bits, and the models in them.

    Bits are offered, transmitted and delivered; `netsim.recording.schema` says what each is.

    Attributes
    ----------
    model_bits : (N,) int64 or None
        Size of each node's model. A message that went on the air counts as floor(its size / its
        sender's) models, so that one that carries a head or prototypes counts as none.
    """

    def __init__(self) -> None:
        self.model_bits: NDArray[np.int64] | None = None
        self._outcomes: Counter[tuple[int, int]] = Counter()
        # By kind: messages that were begun, models in them, bits offered, transmitted, delivered.
        self._by_kind: dict[int, NDArray[np.int64]] = {}
        self._delays: dict[int, _Delays] = {}

    def add(self, rows: Rows) -> None:
        """Count the next rows of the message table, kinds and outcomes as codes."""
        kind, outcome, bits = rows["kind"].astype(np.int64), rows["outcome"], rows["bits"]
        pairs, counts = np.unique(kind * len(OUTCOMES) + outcome, return_counts=True)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            self._outcomes[divmod(pair, len(OUTCOMES))] += count
        transmitted, delivered = rows["bits_transmitted"], outcome == _DELIVERED
        models = np.zeros_like(bits)
        if self.model_bits is not None:
            models = bits // self.model_bits[rows["src"]]
        begun = rows["attempts"] > 0
        for code in np.unique(kind).tolist():
            mine = kind == code
            sums = (
                (begun & mine).sum(),
                models[begun & mine].sum(),
                bits[mine].sum(),
                transmitted[mine].sum(),
                bits[delivered & mine].sum(),
            )
            self._by_kind[code] = self._by_kind.get(code, 0) + np.array(sums, dtype=np.int64)
        arrived = np.isin(outcome, _ARRIVED)
        delay_ns = rows["t_done_s"] - rows["t_sent_s"]
        for code in np.unique(kind[arrived]).tolist():
            self._delays.setdefault(code, _Delays()).add(delay_ns[arrived & (kind == code)])

    def totals(
        self, kinds: Sequence[str], bits_transmitted: int, airtime_s: float
    ) -> dict[str, Any]:
        """The part of a run's totals that is about messages.

        Parameters
        ----------
        kinds : sequence of str
            Names of the message classes, by code.
        bits_transmitted : int
            Of all nodes; a broadcast that all its receivers left has no row to tell it.

        Returns
        -------
        dict
            `messages outcomes sent_by_kind models_sent delay`, see `Recorder.close`.
        """
        by_kind: dict[str, dict[str, int]] = {}
        by_outcome: Counter[str] = Counter()
        for (kind, outcome), count in sorted(self._outcomes.items()):
            by_kind.setdefault(kinds[kind], {})[OUTCOMES[outcome]] = count
            by_outcome[OUTCOMES[outcome]] += count
        sent = by_outcome.total()
        sums = {kinds[kind]: found.tolist() for kind, found in sorted(self._by_kind.items())}
        known = self.model_bits is not None
        delays = {kinds[kind]: found for kind, found in sorted(self._delays.items())}
        return {
            "messages": {
                "sent": sent,
                "delivered": by_outcome["delivered"],
                "partial": by_outcome["partial"],
                "lost": sum(by_outcome[outcome] for outcome in LOST),
                "expired": by_outcome["deadline"],
                "withdrawn": by_outcome["withdrawn"],
                "bits_offered": sum(offered for _, _, offered, _, _ in sums.values()),
                "bits_transmitted": bits_transmitted,
                "bits_delivered": sum(delivered for *_, delivered in sums.values()),
                "airtime_s": airtime_s,
            },
            "outcomes": by_kind,
            "models_sent": sum(models for _, models, *_ in sums.values()) if known else None,
            "sent_by_kind": {
                kind: {
                    "messages": n,
                    "models": models if known else None,
                    "bits_offered": offered,
                    "bits_transmitted": transmitted,
                    "bits_delivered": delivered,
                }
                for kind, (n, models, offered, transmitted, delivered) in sums.items()
            },
            "delay": _Delays.of_all(delays) if delays else {},
        }


class _Delays:
    """Delays of messages from sending to arrival: a histogram in bounded memory.

    Mean, least and largest are exact. Delays are counted in classes whose width is at most 1/128
    of their values; a percentile is the middle of its class, and so is right to 0.4 %.
    """

    def __init__(self) -> None:
        self.arrived = 0
        self.total_ns = 0
        self.least_ns, self.most_ns = np.iinfo(np.int64).max, 0
        self.classes: Counter[int] = Counter()

    def add(self, delay_ns: NDArray[np.int64]) -> None:
        """Count some more delays [ns]: (n,), at least one."""
        self.arrived += len(delay_ns)
        self.total_ns += int(delay_ns.sum())
        self.least_ns = min(self.least_ns, int(delay_ns.min()))
        self.most_ns = max(self.most_ns, int(delay_ns.max()))
        # the bits of a positive float grow with it: exponent, then mantissa
        floats = delay_ns.astype(np.float64).view(np.int64) >> _DROPPED_BITS
        codes, counts = np.unique(floats, return_counts=True)
        self.classes.update(dict(zip(codes.tolist(), counts.tolist(), strict=True)))

    def summary(self) -> dict[str, float]:
        """`arrived mean_s p50_s p95_s p99_s max_s`."""
        codes = np.array(sorted(self.classes))
        reached = np.cumsum([self.classes[code] for code in codes.tolist()])
        found: dict[str, float] = {
            "arrived": self.arrived,
            "mean_s": self.total_ns / self.arrived / NS_PER_S,
        }
        for percent in (50, 95, 99):
            code = codes[np.searchsorted(reached, percent / 100 * self.arrived)]
            ends = np.array([code, code + 1]) << _DROPPED_BITS
            middle_ns = float(ends.view(np.float64).mean())
            found[f"p{percent}_s"] = min(max(middle_ns, self.least_ns), self.most_ns) / NS_PER_S
        return found | {"max_s": to_s(self.most_ns)}

    @staticmethod
    def of_all(kinds: Mapping[str, "_Delays"]) -> dict[str, Any]:
        """`summary` over all messages, and the same `by_kind`."""
        every = _Delays()
        for one in kinds.values():
            every.arrived += one.arrived
            every.total_ns += one.total_ns
            every.least_ns = min(every.least_ns, one.least_ns)
            every.most_ns = max(every.most_ns, one.most_ns)
            every.classes.update(one.classes)
        by_kind = {kind: one.summary() for kind, one in kinds.items()}
        return {**every.summary(), "by_kind": by_kind}
