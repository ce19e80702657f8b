"""A graph from a file, measured or drawn elsewhere."""

from typing import Literal

from netsim.errors import ScenarioError
from netsim.registry import FilePath
from netsim.topology import Site, Topology
from netsim.traces.files import quote, read_text, whole_number
from netsim.traces.graphs import Graph, components
from netsim.traces.graphs.reading import read_graph
from netsim.traces.remarks import note_left_out, note_other_ids, note_remark


class GraphFile(Topology):
    """The undirected graph that a file holds; parallel edges are one.

    Ids that are whole numbers become nodes in their numerical order (as they are, where they are
    node numbers of an edge list, from 0: then some may be without links), others in their order in
    the file. Where they are others than the nodes', `nodes.parquet` has them as `topology_id`.

    Parameters
    ----------
    path : str
        The graph, in any format of `docs/formats.md`, of which values of links are not read; may be
        `.gz`, or a `.zip` that holds it. Beside the scenario, else below the data folder.
    member : str, optional
        File of a zip. Absent: the only one.
    nodes : {"all", "first", "largest_component"}
        Nodes of the file that exist in the scenario: "all", so that the file has as many as the
        scenario; the first ones of it, with the links between them; or as many of its largest
        component, from its best linked node outwards, so that they are connected.
    drop_self_loops : bool
        Whether links of a node to itself are left out; otherwise they are an error.
    drop_directions : bool
        Whether a link that the file has for one direction alone is there both ways; otherwise it is
        an error.
    """

    kind: Literal["file"] = "file"
    path: FilePath
    member: str | None = None
    nodes: Literal["all", "first", "largest_component"] = "all"
    drop_self_loops: bool = False
    drop_directions: bool = False

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        text = read_text(self.path, site.folder, "topology", member=self.member)
        graph = read_graph(text, self.drop_self_loops)
        one_way = [] if self.drop_directions else graph.one_way()
        if one_way:
            raise text.error(
                f"the link from {quote(one_way[0].a)} to {quote(one_way[0].b)} leads one way "
                f"({len(one_way)} such links), and a topology's go both ways; set drop_directions "
                "= true to have them so",
                one_way[0].line,
            )
        given = {name for edge in graph.edges for name in edge.values}
        kept = sorted(name for name in given if not name.isdecimal()) or sorted(given, key=int)
        if kept:
            named = ", ".join(f"column {n}" if n.isdecimal() else quote(n) for n in kept[:5])
            note_remark(
                f"{text.where}: a topology takes no values of links ({named}); where these are "
                "rates or latencies, [link.backbone] plays them"
            )
        number = self._node_numbers(graph, site.nodes)
        called = {node: name for name, node in number.items()}
        how = "the first ones" if self.nodes == "first" else "of the largest component"
        note_left_out(text.where, "nodes", len(graph.nodes), len(number), how)
        note_other_ids("topology", [called.get(node, "") for node in range(site.nodes)])
        found: list[set[int]] = [set() for _ in range(site.nodes)]
        for edge in graph.edges:
            a, b = number.get(edge.a), number.get(edge.b)
            if a is not None and b is not None:
                found[a].add(b)
                found[b].add(a)
        return [tuple(sorted(peers)) for peers in found]

    def _node_numbers(self, graph: Graph, nodes: int) -> dict[str, int]:
        """Return the node of each id of the file."""
        names = list(graph.nodes)
        whole = all(whole_number(name) is not None for name in names)
        if whole:
            names.sort(key=int)
        if self.nodes == "largest_component":
            names = components(names, graph.edges)[0]
        if self.nodes != "all":
            if len(names) < nodes:
                raise graph.text.error(
                    f"{'has' if self.nodes == 'first' else 'its largest component has'} "
                    f"{len(names)} nodes, [nodes] count = {nodes}; lower the count"
                )
            return {name: i for i, name in enumerate(names[:nodes])}
        if len(names) == nodes:
            return {name: i for i, name in enumerate(names)}
        counted = whole and [int(name) for name in names] == list(range(1, len(names) + 1))
        listed = whole and not graph.declares and not counted
        if listed and int(names[-1]) < nodes:
            return {name: int(name) for name in names}
        if listed and len(names) < nodes:
            raise self._unknown_node_error(graph, nodes)
        raise graph.text.error(
            f"has {len(names)} nodes, [nodes] count = {nodes}; set the count to {len(names)}, or "
            'take a part with [topology] nodes = "largest_component" or "first"'
        )

    def _unknown_node_error(self, graph: Graph, nodes: int) -> ScenarioError:
        edge = next(e for e in graph.edges if max(int(e.a), int(e.b)) >= nodes)
        name = edge.a if int(edge.a) >= nodes else edge.b
        return graph.text.error(
            f"node {name} is unknown: [nodes] count = {nodes}, and the ids are node numbers from "
            f"0 to {nodes - 1} where not all appear",
            edge.line,
        )
