"""The ServerApp: a strategy of Flower's, by its name."""

import torch
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp, strategy

from digits_app.task import load_test_data, make_model, test

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the rounds."""
    settings = context.run_config
    torch.manual_seed(0)
    arrays = ArrayRecord(make_model().state_dict())
    kind = getattr(strategy, str(settings["strategy"]))
    own = {"proximal_mu": 0.1} if settings["strategy"] == "FedProx" else {}
    chosen = kind(fraction_train=1.0, fraction_evaluate=1.0, **own)
    data = load_test_data(len(list(grid.get_node_ids())))

    def on_server(number: int, arrays: ArrayRecord) -> MetricRecord:
        model = make_model()
        model.load_state_dict(arrays.to_torch_state_dict())
        loss, accuracy = test(model, data)
        return MetricRecord({"loss": loss, "accuracy": accuracy})

    chosen.start(
        grid,
        arrays,
        num_rounds=int(settings["num-server-rounds"]),
        timeout=float(settings["timeout"]),
        evaluate_fn=on_server,
    )
