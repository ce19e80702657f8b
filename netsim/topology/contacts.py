"""Contacts from a trace: nodes are linked while they are in contact."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netsim.registry import FilePath, Finite, Positive
from netsim.topology import Site, Topology
from netsim.traces.contacts import COLUMNS, Meetings, Spans, read_contacts
from netsim.traces.files import Text, read_text, whole_number
from netsim.traces.moments import file_time_of_start
from netsim.traces.remarks import note_ids, note_left_out
from netsim.units import FOREVER_NS, to_ns


class Contacts(Topology):
    """A topology that changes as people of a trace meet and part.

    A node's peers are those in contact with it now; a message under way when a contact ends is
    lost (`outage`). Servers are not in the trace: every node reaches them at all times.

    Parameters
    ----------
    path : str
        The trace: lines `t i j`, `i j start end`, `t CONN i j up|down`, or Konect's `i j weight t`;
        may be `.gz`, or a `.zip` that holds it. Beside the scenario, else below the data folder.
    member : str
        File of a zip. Absent: the only one.
    columns : tuple of str, optional
        Order of the columns: t, i, j, start, end, or _ for one that is not read; empty: as a header
        says, else four columns of numbers are `i j start end` and all else `t i j`, and a file that
        may have another order is refused. Example: `["t", "i", "j"]`
    sample_s : float
        Time before t at which the contact of a line `t i j` began (SocioPatterns: 20 s).
    start_s : float, optional
        Time of the trace at which the run starts. Absent: that of its first contact.
    speedup : float
        Seconds of the trace in one virtual second.
    assign : {"most_active", "permutation"}
        People that become nodes 0, 1, ...: those longest in contact first, or as drawn by the seed
        ("permutation").
    people : tuple of str, optional
        The ids that become nodes 0, 1, ..., in place of `assign`; empty: `assign` says which.
    """

    kind: Literal["contacts"] = "contacts"
    path: FilePath
    member: str | None = None
    columns: tuple[Literal["t", "i", "j", "start", "end", "_"], ...] = ()
    sample_s: Positive = 20.0
    start_s: Finite | None = None
    speedup: Positive = 1.0
    assign: Literal["most_active", "permutation"] = "most_active"
    people: Annotated[tuple[str, ...], Field(max_length=100_000)] = ()

    @model_validator(mode="after")
    def _columns_tell_who_and_when(self) -> Self:
        named = [name for name in self.columns if name != "_"]
        if named and sorted(named) not in (["i", "j", "t"], ["end", "i", "j", "start"]):
            raise ValueError(
                f"columns must name t, i, j, or i, j, start, end once each, of {' '.join(COLUMNS)}"
            )
        return self

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """Return the nodes that each node ever meets; see the base class."""
        return self.meetings(site).neighbours()

    def meetings(self, site: Site) -> Meetings:
        """Return the contact times of the pairs; see the base class."""
        text = read_text(self.path, site.folder, "topology", member=self.member)
        said = "sample_s" in self.model_fields_set
        spans = read_contacts(text, self.columns, self.sample_s, said)
        clients = [i for i in range(site.nodes) if i not in site.servers]
        number = dict(
            zip(self._choose_people(text, spans, len(clients), site), clients, strict=True)
        )
        called = {i: name for name, i in number.items()}
        if not self.people:
            people = {name for pair in spans for name in pair}
            how = "drawn by the seed" if self.assign == "permutation" else "the most active"
            note_left_out(text.where, "people", len(people), len(number), how)
        start_s = file_time_of_start(
            text.where,
            min(own[0][0] for own in spans.values()),
            max(own[-1][1] for own in spans.values()),
            self.start_s,
            "no two people are in contact",
            self.speedup,
            clear=True,
        )
        note_ids("contact", [called.get(i, "") for i in range(site.nodes)])

        def at_ns(time_s: float) -> int:
            return max(0, to_ns((time_s - start_s) / self.speedup))

        mine: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for (a, b), own in spans.items():
            if a in number and b in number:
                i, j = sorted((number[a], number[b]))
                played = [(at_ns(start), at_ns(end)) for start, end in own]
                kept = [(start, end) for start, end in played if end > start]
                if kept:
                    mine[i, j] = kept
        for server in site.servers:
            mine |= {(min(i, server), max(i, server)): [(0, FOREVER_NS)] for i in clients}
        return Meetings(site.nodes, mine)

    def _choose_people(self, text: Text, spans: Spans, nodes: int, site: Site) -> list[str]:
        """The people who become nodes."""
        active_s: dict[str, float] = {}
        for pair, own in spans.items():
            for name in pair:
                active_s[name] = active_s.get(name, 0.0) + sum(e - s for s, e in own)
        known = sorted(active_s, key=_by_number)
        if self.people:
            unknown = [name for name in self.people if name not in active_s]
            if unknown:
                raise text.error(f"people: nobody in it has the id {unknown[0]}")
            if len(self.people) != nodes or len(set(self.people)) < len(self.people):
                raise text.error(
                    f"people: must be {nodes} different ids, one a node; these are "
                    f"{len(set(self.people))}"
                )
            return list(self.people)
        if len(known) < nodes:
            raise text.error(
                f"has {len(known)} people, [nodes] count = {site.nodes} with "
                f"{len(site.servers)} servers; lower the count"
            )
        if self.assign == "permutation":
            order = site.streams.permutation("topology/contacts", n=len(known))
            return [known[k] for k in order[:nodes]]
        return sorted(known, key=lambda name: -active_s[name])[:nodes]


def _by_number(name: str) -> tuple[int, str]:
    number = whole_number(name)
    return (-1 if number is None else number, name)
