"""Rates chosen by what was acknowledged: what each sender knows of each of its links.

Windows of time begin at the same instants on all links, so that where a channel block ends never
depends on what happens in it. What a link has learnt is a value that a message takes along:
it is copied where a leg begins, counts what is sampled block by block, and is kept when the message
ends. So an interruption takes back what it takes back of the message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netsim.channels.rate.minstrel import Minstrel
from netsim.rng import Streams
from netsim.units import to_ns


class LinkRates:
    """Sender's knowledge of the rates to one receiver.

    Parameters
    ----------
    rates_bps : sequence of float
        The rates to choose from [bit/s].

    Attributes
    ----------
    window : int
        The window that the counts are of.
    shares : list of float
        Mean share of attempts that were acknowledged, by rate; 0 where none was made.
    tried : list of bool
        Whether any attempt was ever counted, by rate.
    attempts, acknowledged : list of int
        Counts of the window, by rate.
    trial : int or None
        The rate that is being tried.
    trials : int
        Attempts made at it in this window.
    """

    __slots__ = (
        "_rates_bps",
        "acknowledged",
        "attempts",
        "shares",
        "trial",
        "trials",
        "tried",
        "window",
    )

    def __init__(self, rates_bps: Sequence[float]) -> None:
        self._rates_bps, rates = rates_bps, len(rates_bps)
        self.window = self.trials = 0
        self.trial: int | None = None
        self.shares, self.tried = [0.0] * rates, [False] * rates
        self.attempts, self.acknowledged = [0] * rates, [0] * rates

    def copy(self) -> LinkRates:
        """A copy, which goes on independently."""
        found = LinkRates(self._rates_bps)
        found.window, found.trial, found.trials = self.window, self.trial, self.trials
        found.shares, found.tried = self.shares[:], self.tried[:]
        found.attempts, found.acknowledged = self.attempts[:], self.acknowledged[:]
        return found

    def count(self, rate_bps: float, attempts: int, acknowledged: int) -> None:
        """Count attempts at a rate.

        Parameters
        ----------
        rate_bps : float
        attempts, acknowledged : int
        """
        if attempts == 0:
            return
        rate = self._rates_bps.index(rate_bps)
        if rate == self.trial:
            self.trials += attempts
        self.attempts[rate] += attempts
        self.acknowledged[rate] += acknowledged

    def enter(self, window: int, kept: float) -> None:
        """Let a window begin; the counts of the one before become part of the means.

        Parameters
        ----------
        window : int
        kept : float
            Weight of the mean so far.
        """
        if window == self.window:
            return
        self.window, self.trial, self.trials = window, None, 0
        for rate, attempts in enumerate(self.attempts):
            if attempts:
                share = self.acknowledged[rate] / attempts
                old = self.shares[rate] if self.tried[rate] else share
                self.shares[rate] = kept * old + (1.0 - kept) * share
                self.tried[rate] = True
                self.attempts[rate] = self.acknowledged[rate] = 0


class RateAdaptation:
    """The rates of all links.

    Parameters
    ----------
    rule : Minstrel
    bandwidth_hz : float
    streams : Streams
    """

    def __init__(self, rule: Minstrel, bandwidth_hz: float, streams: Streams) -> None:
        self._rule, self._streams = rule, streams
        self.rates_bps = rule.rates_bps(bandwidth_hz)
        self._window_ns = to_ns(rule.window_s)
        self._links: dict[tuple[int, int], LinkRates] = {}

    def learn_from(self, before: RateAdaptation) -> None:
        """Know what another one knows, if it is about the same rates."""
        if before.rates_bps == self.rates_bps:
            self._links = before._links

    def link_rates(self, src: int, dst: int) -> LinkRates:
        """Return the sender's present knowledge of a link."""
        found = self._links.get((src, dst))
        if found is None:
            found = self._links[src, dst] = LinkRates(self.rates_bps)
        return found

    def set_link_rates(self, src: int, dst: int, known: LinkRates) -> None:
        """Let this be what a sender knows of a link from now on.

        Parameters
        ----------
        src, dst : int
            The link.
        known : LinkRates
        """
        self._links[src, dst] = known

    def best_bps(self, src: int, dst: int, attempt_ns: Callable[[float], float]) -> float:
        """The rate [bit/s] of the largest throughput on a link, by present knowledge.

        Parameters
        ----------
        src, dst : int
            The link.
        attempt_ns : callable
            Rate [bit/s] -> duration of an attempt [ns].
        """
        shares = self.link_rates(src, dst).shares
        return self.rates_bps[_best(shares, [attempt_ns(rate) for rate in self.rates_bps])]

    def rate_rule(
        self, src: int, dst: int, known: LinkRates, attempt_ns: Callable[[float], float]
    ) -> Callable[[int], tuple[float, int]]:
        """The rate of a link as a function of time: [ns] -> rate [bit/s], and until when [ns].

        Parameters
        ----------
        src, dst : int
            The link.
        known : LinkRates
            What is known of it; whoever asks counts what happens, in the order of time.
        attempt_ns : callable
            Rate [bit/s] -> duration of an attempt [ns].
        """
        attempts_ns = [attempt_ns(rate) for rate in self.rates_bps]

        def at(time_ns: int) -> tuple[float, int]:
            rate, until_ns = self.choose(src, dst, known, time_ns, attempts_ns)
            return self.rates_bps[rate], until_ns

        return at

    def choose(
        self,
        src: int,
        dst: int,
        known: LinkRates,
        time_ns: int,
        attempts_ns: Sequence[float],
    ) -> tuple[int, int]:
        """The rate to use at a time, and the end of its use.

        Parameters
        ----------
        src, dst : int
            The link.
        known : LinkRates
            Of this link; enters the window of the instant.
        time_ns : int
        attempts_ns : sequence of float
            Duration of an attempt at each rate.

        Returns
        -------
        int, int
            Index among `rates_bps`; time [ns].
        """
        window = time_ns // self._window_ns
        known.enter(window, self._rule.kept)
        ends_ns, best = (window + 1) * self._window_ns, _best(known.shares, attempts_ns)
        left = self._rule.trials - known.trials
        if left <= 0:
            known.trial = None
            return best, ends_ns
        throughput = known.shares[best] / attempts_ns[best]
        others = [
            rate
            for rate, length_ns in enumerate(attempts_ns)
            if rate != best and throughput * length_ns < 1.0
        ]
        if not others:
            return best, ends_ns
        drawn = self._streams.uniform("rate tried", src, dst, window)
        known.trial = others[int(drawn * len(others))]
        return known.trial, time_ns + max(1, int(left * attempts_ns[known.trial]))


def _best(shares: Sequence[float], attempts_ns: Sequence[float]) -> int:
    """The rate of the largest throughput; the slowest where nothing was acknowledged."""
    throughputs = [s / t for s, t in zip(shares, attempts_ns, strict=True)]
    return max(range(len(throughputs)), key=throughputs.__getitem__)
