"""A ServerApp without rounds: FedBuff (Nguyen et al. 2022, arXiv:2106.06639).

Every client trains all the time. The server adds what `buffer-size` of them have learned, less the
staler it is, and sends whoever has answered the model as it is now.
"""

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import Result

from digits_app.task import load_test_data, make_model, test

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Add updates until there were enough."""
    settings = context.run_config
    torch.manual_seed(0)
    model, result = make_model(), Result()
    nodes = sorted(grid.get_node_ids())
    data = load_test_data(len(nodes))
    version, buffer = 0, []
    under_way = {}
    times = dict.fromkeys(nodes, 0)

    def send(node: int) -> None:
        times[node] += 1
        state = {name: values.clone() for name, values in model.state_dict().items()}
        content = RecordDict(
            {
                "arrays": ArrayRecord(state),
                "config": ConfigRecord({"server-round": times[node]}),
            }
        )
        message = Message(content, node, "train", ttl=float(settings["time-to-live"]))
        (name,) = grid.push_messages([message])
        under_way[name] = version, state

    for node in nodes:
        send(node)
    while version < settings["updates"]:
        for reply in grid.pull_messages(list(under_way)):
            began, state = under_way.pop(reply.metadata.reply_to_message_id)
            if not reply.has_error():
                trained = reply.content["arrays"].to_torch_state_dict()
                weight = (1 + version - began) ** -0.5
                buffer.append({k: weight * (trained[k] - state[k]) for k in state})
            if len(buffer) == settings["buffer-size"]:
                added = {k: sum(one[k] for one in buffer) / len(buffer) for k in state}
                model.load_state_dict({k: v + added[k] for k, v in model.state_dict().items()})
                version, buffer = version + 1, []
                loss, accuracy = test(model, data)
                numbers = {"loss": loss, "accuracy": accuracy}
                result.evaluate_metrics_serverapp[version] = MetricRecord(numbers)
            send(reply.metadata.src_node_id)
    result.arrays = ArrayRecord(model.state_dict())
