"""Graphs in XML: GraphML, Gephi's GEXF and SNDlib's networks."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from netsim.traces.files import Text, quote, whole_number
from netsim.traces.graphs import Edge, Graph, by_name

MOST_ELEMENTS = 3_000_000
"""Each takes about 300 bytes."""


@dataclass(slots=True)
class _Element:
    """An element of XML, without its namespace.

    Attributes
    ----------
    tag : str
    line : int
        Where it begins, from 1.
    get : dict of str to str
        Its attributes.
    children : list of _Element
    words : list of str
        The pieces of its own text.
    """

    tag: str
    line: int
    get: dict[str, str]
    children: "list[_Element]" = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its own text, without blanks around it."""
        return "".join(self.words).strip()

    def children_of(self, tag: str) -> "Iterator[_Element]":
        """Its children of one tag."""
        return (child for child in self.children if child.tag == tag)

    def descendants(self, *tags: str) -> "list[_Element]":
        """Its descendants along a path of tags."""
        found = [self]
        for tag in tags:
            found = [child for parent in found for child in parent.children_of(tag)]
        return found


def _parsed(text: Text) -> _Element:
    """The root of an XML text; entities of its own are refused, however harmless."""
    # the text is decoded already, whatever encoding its first line names
    parser = expat.ParserCreate("utf-8", "}")
    top = _Element("", 0, {})
    open_: list[_Element] = [top]
    left = MOST_ELEMENTS

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise text.error(f"has more than {MOST_ELEMENTS:,} elements; cut it down")
        line, own = parser.CurrentLineNumber, {_local_name(k): v for k, v in attributes.items()}
        open_.append(_Element(_local_name(tag), line, own))
        open_[-2].children.append(open_[-1])

    def end(_: str) -> None:
        open_.pop()

    def characters(data: str) -> None:
        open_[-1].words.append(data)

    def entity(*_: object) -> None:
        raise text.error(
            "declares entities of its own (<!ENTITY ...>); write what they stand for in their "
            "place",
            parser.CurrentLineNumber,
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = characters, entity
    try:
        parser.Parse(text.content.lstrip().encode(), True)
    except expat.ExpatError as error:
        raise text.error(
            f"is not valid XML at column {error.offset + 1}: {expat.ErrorString(error.code)}; is "
            "the file complete?",
            error.lineno,
        ) from None
    return top.children[0]


def _local_name(name: str) -> str:
    return name.rpartition("}")[2]


def read_graphml(graph: Graph) -> None:
    """Read GraphML (graphml.graphdrawing.org): one graph with its data, defaults included.

    Ports do not change who is linked to whom, and are left aside.

    Raises
    ------
    DataError
        If it has several graphs, graphs inside of nodes, or hyperedges.
    """
    text = graph.text
    root = _parsed(text)
    keys = list(root.children_of("key"))
    names = _data_names(text, ((key.get.get("id", ""), _key_name(key), key.line) for key in keys))
    defaults = {
        of: by_name(
            text,
            (
                (_key_name(key), default.text)
                for key in keys
                if key.get.get("for", "all") in (of, "all")
                for default in key.children_of("default")
            ),
            f"every {of} by default",
            None,
        )
        for of in ("node", "edge")
    }
    bodies = list(root.children_of("graph"))
    if len(bodies) != 1:
        if not bodies:
            raise text.error("holds no <graph>")
        raise text.error(f"holds {len(bodies)} graphs; leave the one that is meant", bodies[1].line)
    [body] = bodies
    for element in body.children:
        if element.tag == "hyperedge":
            raise text.error(
                "holds a <hyperedge>, a link of any number of nodes; write an <edge> for each "
                "pair that it links",
                element.line,
            )
        nested = next(element.children_of("graph"), None)
        if nested is not None:
            raise text.error(
                f"a graph lies inside of a <{element.tag}>; put its nodes and edges into the outer "
                "one (yEd: ungroup)",
                nested.line,
            )

    def values(element: _Element) -> dict[str, str]:
        keyed = ((data.get.get("key", ""), data.text) for data in element.children_of("data"))
        own = ((names.get(key, key), value) for key, value in keyed)
        return defaults[element.tag] | by_name(text, own, f"this {element.tag}", element.line)

    _require_number(text, body, "parse.nodes", len(body.descendants("node")))
    _require_number(text, body, "parse.edges", len(body.descendants("edge")))
    both = body.get.get("edgedefault", "undirected") != "directed"
    for node in body.children_of("node"):
        graph.declare(_required_value(text, node, "id"), values(node), node.line)
    for edge in body.children_of("edge"):
        directed = edge.get.get("directed", "false" if both else "true").lower() in ("true", "1")
        a, b = _required_value(text, edge, "source"), _required_value(text, edge, "target")
        graph.link(Edge(a, b, edge.line, values(edge), directed))


def _data_names(text: Text, found: Iterable[tuple[str, str, int]]) -> dict[str, str]:
    """Names of data by id.

    Raises
    ------
    DataError
        If two have one id.
    """
    names: dict[str, str] = {}
    for key, name, line in found:
        if key in names:
            raise text.error(f"two declarations of data have the id {quote(key)}", line)
        names[key] = name
    return names


def _key_name(key: _Element) -> str:
    return key.get.get("attr.name", key.get.get("id", ""))


def _require_number(text: Text, body: _Element, key: str, found: int) -> None:
    """Refuse a count that is not that of the elements; words that are no number are left aside."""
    stated = whole_number(body.get.get(key, ""))
    if stated is not None and stated != found:
        raise text.error(
            f'says {key} = "{stated}" and holds {found}; is the file complete? If it is, correct '
            "the number",
            body.line,
        )


def _required_value(text: Text, element: _Element, key: str) -> str:
    value = element.get.get(key, "")
    if not value:
        article = "an" if element.tag[0] in "aeiou" else "a"
        word = "an id" if key == "id" else f"a {key}"
        raise text.error(f"{article} <{element.tag}> without {word}", element.line)
    return value


_COME_AND_GO = "its links come and go; export one moment of it from Gephi"
_SPELL = {"start", "end", "startopen", "endopen", "timestamp", "timestamps", "intervals"}
"""Attributes of GEXF that say when something is there."""


def read_gexf(graph: Graph) -> None:
    """Read Gephi's GEXF 1.1 to 1.3: a graph that does not change, nodes inside of nodes included.

    Raises
    ------
    DataError
        If it changes over time: then who is linked to whom is no single graph.
    """
    text = graph.text
    root = _parsed(text)
    bodies = list(root.children_of("graph"))
    if len(bodies) != 1:
        raise text.error(f"holds {len(bodies)} <graph>; one is read")
    [body] = bodies
    if body.get.get("mode", "").lower() == "dynamic":
        raise text.error(f'mode = "dynamic": {_COME_AND_GO}', body.line)
    titles: dict[str, dict[str, str]] = {}
    defaults: dict[str, dict[str, str]] = {}
    for of in ("node", "edge"):
        tables = (t for t in body.children_of("attributes") if t.get.get("class", "") == of)
        keys = [
            (key, key.get.get("title", key.get.get("id", "")))
            for table in tables
            for key in table.children_of("attribute")
        ]
        titles[of] = _data_names(
            text, ((key.get.get("id", ""), name, key.line) for key, name in keys)
        )
        stated = (
            (name, default.text) for key, name in keys for default in key.children_of("default")
        )
        defaults[of] = by_name(text, stated, f"every {of} by default", None)

    def values(element: _Element) -> dict[str, str]:
        dated = [
            element,
            *element.children_of("spells"),
            *element.descendants("attvalues", "attvalue"),
        ]
        for one in dated:
            if one.tag == "spells" or one.get.keys() & _SPELL:
                raise text.error(f"this {element.tag} has times: {_COME_AND_GO}", one.line)
        own = {k: v for k, v in element.get.items() if k in ("label", "weight")}
        keyed = (
            (value.get.get("for", value.get.get("id", "")), value.get.get("value", ""))
            for value in element.descendants("attvalues", "attvalue")
        )
        stated = ((titles[element.tag].get(key, key), value) for key, value in keyed)
        own |= by_name(text, stated, f"this {element.tag}", element.line)
        return defaults[element.tag] | own

    def nodes(parent: _Element) -> Iterator[_Element]:
        waiting = parent.descendants("nodes", "node")[::-1]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.descendants("nodes", "node")[::-1]

    for node in nodes(body):
        graph.declare(_required_value(text, node, "id"), values(node), node.line)
    kind = body.get.get("defaultedgetype", "undirected")
    for edge in body.descendants("edges", "edge"):
        directed = edge.get.get("type", kind).lower() == "directed"
        a, b = _required_value(text, edge, "source"), _required_value(text, edge, "target")
        graph.link(Edge(a, b, edge.line, values(edge), directed))
    for element, found in (("nodes", len(graph.nodes)), ("edges", len(graph.edges))):
        for counted in body.children_of(element):
            _require_number(text, counted, "count", found)


_OF_LINKS = {
    "pre_installed_capacity": ("preInstalledModule", "capacity"),
    "pre_installed_capacity_cost": ("preInstalledModule", "cost"),
    "routing_cost": ("routingCost",),
    "setup_cost": ("setupCost",),
    "module_capacity": ("additionalModules", "addModule", "capacity"),
    "module_cost": ("additionalModules", "addModule", "cost"),
}


def read_sndlib_xml(graph: Graph) -> None:
    """Read a network of SNDlib (Orlowski et al., Networks 2010) in XML: its nodes and links."""
    text = graph.text
    root = _parsed(text)
    places = root.descendants("networkStructure", "nodes")
    on_earth = any(p.get.get("coordinatesType", "geographical") == "geographical" for p in places)
    names = ("Longitude", "Latitude") if on_earth else ("x", "y")
    for node in root.descendants("networkStructure", "nodes", "node"):
        own: dict[str, str] = {}
        for name, tag in zip(names, ("x", "y"), strict=True):
            for coordinate in node.descendants("coordinates", tag):
                own[name] = coordinate.text
        graph.declare(_required_value(text, node, "id"), own, node.line)
    for link in root.descendants("networkStructure", "links", "link"):
        ends = []
        for tag in ("source", "target"):
            stated = [end.text for end in link.children_of(tag) if end.text]
            if len(stated) != 1:
                raise text.error(f"a <link> without one <{tag}>", link.line)
            ends.append(stated[0])
        graph.link(
            Edge(
                ends[0],
                ends[1],
                link.line,
                link_values(
                    {
                        name: [e.text for e in link.descendants(*way)]
                        for name, way in _OF_LINKS.items()
                    }
                ),
            )
        )


def link_values(found: Mapping[str, list[str]]) -> dict[str, str]:
    """The data of a link of SNDlib by name; where there is a choice of modules, none is taken."""
    return {name: words[0] for name, words in found.items() if len(words) == 1}
