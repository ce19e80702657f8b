"""Good inputs of every kind, small ones: bad ones are made by breaking these."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

BASE: dict[str, Any] = {
    "name": "hostile",
    "horizon_s": 4.0,
    "nodes": {"count": 4, "placement": "disc"},
    "exchange": {"schedule": "poisson", "rate_hz": 1.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [4]},
    "algorithm": {"kind": "fedavg"},
}
"""Four nodes in a disc that a file can be given to."""

RADIO: dict[str, Any] = {
    "radio": {
        "path_loss": {"kind": "log_distance"},
        "rate": {"kind": "fixed", "rate_bps": 1e6},
        "packet_error": {"kind": "outage"},
    }
}
LINK: dict[str, Any] = {"link": {"rate_bps": 1e6}}


@dataclass(frozen=True)
class FileKind:
    """A file that a scenario names: a good one, and tables that lead to it.

    Attributes
    ----------
    suffix : str
    content : bytes
    tables : callable
        path -> tables to lay over `BASE`.
    """

    suffix: str
    content: bytes
    tables: Callable[[str], dict[str, Any]]


def _npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _zip(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(name, content)
    return file.getvalue()


def _parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def image(side: int = 28, form: str = "PNG", mode: str = "L") -> bytes:
    """An encoded image."""
    file = io.BytesIO()
    Image.new(mode, (side, side), 7).save(file, form)
    return file.getvalue()


def images(rows: int = 40) -> bytes:
    """A data set of images as Parquet."""
    encoded = pa.array([{"bytes": image(), "path": None}] * rows)
    labels = pa.array([i % 10 for i in range(rows)])
    return _parquet(pa.table({"image": encoded, "label": labels}))


def metrics(rows: int = 8) -> bytes:
    """The metrics of a run."""
    return _parquet(
        pa.table(
            {
                "t_s": [float(i // 2) for i in range(rows)],
                "node": pa.array([i % 2 for i in range(rows)], pa.int32()),
                "metric": pa.array(["accuracy"] * rows).dictionary_encode(),
                "stage": pa.array(["trained"] * rows).dictionary_encode(),
                "value": [0.1 * (i // 2) for i in range(rows)],
                "steps": list(range(rows)),
                "energy_j": [0.0] * rows,
            }
        )
    )


SUMMARY: dict[str, Any] = {
    "name": "s",
    "algorithm": "fedavg",
    "seed": 0,
    "nodes": 4,
    "virtual_s": 4.0,
    "wall_s": 1.0,
    "accuracy": {"mean": 0.5, "std": 0.1, "best": {"t_s": 1.0, "mean": 0.6, "std": 0.1}},
    "messages": {"sent": 8, "delivered": 6, "lost": 2, "bits_offered": 80, "bits_delivered": 60},
    "delay": {"mean_s": 0.1},
    "local_steps": 7,
}

CHECKPOINT_FILES: dict[str, bytes] = {
    "checkpoint-000000.cells": np.arange(8, dtype="<f4").tobytes() + b"\x01\x00\x01",
    "values-000000.numbers": np.array([0.5, 2.0]).tobytes(),
}
CHECKPOINT: dict[str, Any] = {
    "format": 2,
    "number": 0,
    "moment": {
        "events": 9,
        "evaluations": 1,
        "time_ns": 10**9,
        "accuracy": 0.5,
        "wall_s": 1.0,
        "evaluation_wall_s": 0.5,
    },
    "event_log_sha256": "0" * 64,
    "extents": {"metrics": [1, 8]},
    "written": {"metrics/part-00000.parquet": "0" * 64},
    "counters": [1, 2, 3, {"train": "ragged"}, []],
    "submitted": 5,
    "pending": [4],
    "again": [3],
    "numbers": 2,
    "values": [{"name": "values-000000.numbers", "bytes": 16}],
    "groups": [
        {"dtype": "float32", "shape": [2, 2], "strides": [1, 2], "cells": [0, 2]},
        {"dtype": "bool", "shape": [3], "strides": None, "cells": [1]},
    ],
    "cells": {"name": "checkpoint-000000.cells", "bytes": 35},
    "made_with": {"torch": "2.13"},
}
"""The contents of a checkpoint with those files, but for their checksums."""

_EDGES = b"# nodes 0 to 3\n0 1\n1 2\n2 3\n3 0\n"
_GRAPHML = b"""<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="edge" attr.name="rate" attr.type="double"/>
<graph edgedefault="undirected"><node id="a"/><node id="b"/><node id="c"/><node id="d"/>
<edge source="a" target="b"><data key="d0">5</data></edge><edge source="b" target="c"/>
<edge source="c" target="d"/></graph></graphml>
"""
_GRAPHS = {
    "gml": b'graph [\n node [ id 0 label "a" ]\n node [ id 1 ]\n node [ id 2 ]\n node [ id 3 ]\n'
    b" edge [ source 0 target 1 ]\n edge [ source 1 target 2 ]\n edge [ source 2 target 3 ]\n]\n",
    "gexf": b'<gexf><graph><nodes><node id="a"/><node id="b"/><node id="c"/><node id="d"/></nodes>'
    b'<edges><edge source="a" target="b" weight="2"/><edge source="c" target="d"/></edges></graph>'
    b"</gexf>",
    "pajek": b'*Vertices 4\n 1 "a"\n 2 "b"\n*Edges\n1 2 5\n2 3\n*Arcslist\n3 4\n4 3\n',
    "node-link": b'{"directed": false, "nodes": [{"id": 0}, {"id": 1}, {"id": 2}, {"id": 3}],'
    b'"links": [{"source": 0, "target": 1}, {"source": 2, "target": 3}]}',
    "adjacency list": b"0 1 2\n1 3\n2\n3\n",
    "matrix market": b"%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n3 2\n4 3\n",
    "dimacs": b"c x\np edge 4 3\ne 1 2\ne 2 3\ne 3 4\n",
    "caida": b"# source\n1|2|0\n2|3|-1\n3|4|-1\n",
    "sndlib": b"?SNDlib native format\nNODES (\n a ( 1 2 )\n b\n c\n d\n)\nLINKS (\n"
    b" k ( a b ) 1 0 0 0 ( 4 1 )\n l ( c d ) 1\n)\n",
    "named edges": b'source,target,rate\n"New York",Ulm,5\nUlm,Rom,5\nRom,"Los Angeles",7\n',
}
_FCD = b"""<fcd-export><timestep time="0.00"><vehicle id="v0" x="1.0" y="2.0" speed="3"/>
<vehicle id="v1" x="3.0" y="4.0"/></timestep><timestep time="1.00">
<vehicle id="v0" x="2.0" y="2.0"/><person id="p0" x="0" y="0"/></timestep></fcd-export>
"""
_NS2 = b"""$node_(0) set X_ 12.5
$node_(0) set Y_ 40.0
$ns_ at 3.0 "$node_(0) setdest 80.0 40.0 1.5"
"""
_GAIN_DB = np.where(np.eye(4) > 0, 0.0, -80.0)


def _mobility(kind: str) -> Callable[[str], dict[str, Any]]:
    return lambda path: {"mobility": {"kind": kind, "path": path}, **RADIO}


def _topology(path: str) -> dict[str, Any]:
    return {"topology": {"kind": "file", "path": path}}


def _churn(kind: str) -> Callable[[str], dict[str, Any]]:
    return lambda path: {"churn": {"kind": kind, "path": path}}


def _radio(key: str, **table: Any) -> Callable[[str], dict[str, Any]]:
    return lambda path: {"radio": {**RADIO["radio"], key: {**table, "path": path}}}


FILES: dict[str, FileKind] = {
    "edge list": FileKind(".txt", _EDGES, _topology),
    "edge list, gz": FileKind(".gz", gzip.compress(_EDGES, mtime=0), _topology),
    "edge list, zip": FileKind(".zip", _zip("e.txt", _EDGES), _topology),
    "graphml": FileKind(".graphml", _GRAPHML, _topology),
    **{name: FileKind(".txt", content, _topology) for name, content in _GRAPHS.items()},
    "contacts": FileKind(
        ".dat",
        b"0 0 1\n20 1 2\n20 2 3\n40 0 3\n",
        lambda path: {"topology": {"kind": "contacts", "path": path}},
    ),
    "backbone": FileKind(
        ".graphml", _GRAPHML, lambda path: {"link": {"backbone": {"path": path, "rate_bps": 1e6}}}
    ),
    "latency matrix": FileKind(
        ".txt",
        b"0 1 2 3\n1 0 4 5\n2 4 0 6\n3 5 6 0\n",
        lambda path: {"link": {"latency_matrix": {"path": path, "unit": "ms"}}},
    ),
    "bandwidth csv": FileKind(
        ".csv",
        b"trace,time_s,mbps\na,0,1.0\na,1,2.0\nb,0,3.0\n",
        lambda path: {"link": {"trace": {"uplink": path}}},
    ),
    "mahimahi": FileKind(
        ".up", b"0\n1\n1\n5\n9\n", lambda path: {"link": {"trace": {"uplink": path}}}
    ),
    "pensieve": FileKind(
        ".txt", b"0 1.0\n1 2.0\n2 0.5\n", lambda path: {"link": {"trace": {"uplink": path}}}
    ),
    "sabre": FileKind(
        ".json",
        b'[{"duration_ms": 500, "bandwidth_kbps": 900}, {"duration_ms": 9, "bandwidth_kbps": 5}]',
        lambda path: {"link": {"trace": {"uplink": path}}},
    ),
    "the one": FileKind(".txt", b"0 5 0 9 0 9\n0 a 1 2\n0 b 3 4\n5 a 9 9\n", _mobility("the_one")),
    "sumo csv": FileKind(
        ".csv",
        b"timestep_time;vehicle_id;vehicle_x;vehicle_y\n0.00;a;1;2\n1.00;a;3;4\n",
        _mobility("sumo"),
    ),
    "movement in degrees": FileKind(
        ".csv", b"node,t_s,lat,lon\n0,0,47.5,9.5\n1,0,47.51,9.5\n", _mobility("trace")
    ),
    "movement csv": FileKind(
        ".csv", b"node,t_s,x_m,y_m\n0,0,1,2\n0,5,3,4\n1,0,5,5\n", _mobility("trace")
    ),
    "bonnmotion": FileKind(".movements", b"0 1 2 5 3 4\n0 5 5\n", _mobility("bonnmotion")),
    "ns2": FileKind(".ns2", _NS2, _mobility("ns2")),
    "sumo": FileKind(".xml", _FCD, _mobility("sumo")),
    "sumo, gz": FileKind(".gz", gzip.compress(_FCD, mtime=0), _mobility("sumo")),
    "churn csv": FileKind(".csv", b"node,on_s,off_s\n0,0,1\n0,2,\n1,1,3\n", _churn("trace")),
    "churn sumo": FileKind(".xml", _FCD, _churn("sumo")),
    "device scores": FileKind(
        ".json",
        json.dumps({"Pixel": 100, "Old": 3.5}).encode(),
        lambda path: {"compute": {"kind": "devices", "path": path}},
    ),
    "device steps": FileKind(
        ".csv",
        b"node,step_s\n0,1\n1,2\n2,3\n3,4\n",
        lambda path: {"compute": {"kind": "devices", "path": path}},
    ),
    "fad": FileKind(
        ".fad", b"0.5 -1 -2 -3 -1\n0 -4 -2 -1 -9\n", _radio("fading", kind="ns3_fad", sample_s=0.1)
    ),
    "packet errors": FileKind(
        ".csv",
        b"rate,bytes,snr_db,per\n1e6,1448,0,0.9\n1e6,1448,5,0.1\n1e6,1448,9,0.001\n",
        _radio("packet_error", kind="table"),
    ),
    "gains npz": FileKind(".npz", _npz(gain_db=_GAIN_DB), _radio("path_loss", kind="gains")),
    "sionna npz": FileKind(
        ".npz",
        _npz(a=np.ones((4, 4, 2, 1), complex) * 1e-4, tau=np.zeros((4, 4, 2)), t_s=np.zeros(1)),
        _radio("path_loss", kind="sionna_rt"),
    ),
}
"""Every file that a scenario may name, by what it is."""
