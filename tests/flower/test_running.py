"""A notebook plays a ServerApp and a ClientApp over a scenario."""

import pytest

pytest.importorskip("flwr")

from flwr.app import Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

import netsim
import netsim.flower
from netsim.recording import summary

server_app, client_app = ServerApp(), ClientApp()
SEEN = []


@server_app.main()
def main(grid, context):
    SEEN.append(dict(context.run_config))
    grid.send_and_receive([Message(RecordDict(), node, "query") for node in grid.get_node_ids()])


@client_app.query()
def on_query(message, context):
    return Message(RecordDict(), reply_to=message)


def test_objects_play_over_a_scenario(tmp_path):
    scenario = netsim.Scenario(
        horizon_s=10.0,
        nodes={"count": 3, "groups": [{"name": "s", "count": 1, "role": "server"}]},
        exchange={"schedule": "periodic", "period_s": 10.0},
        algorithm=[{"kind": "flower", "run_config": {"a": 1}}],
    )
    keys = {"run_config": {"b": 2.0}, "out": tmp_path / "run"}
    netsim.flower.run(server_app, client_app, scenario, **keys)
    assert SEEN[-1] == {"a": 1, "b": 2.0}
    assert summary.load(tmp_path / "run")["recorded"]["flower_replies"]["mean"] == 2
