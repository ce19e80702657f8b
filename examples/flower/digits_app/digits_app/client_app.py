"""The ClientApp: train and evaluate what the server sends."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from digits_app.task import load_data, make_model, test, train

app = ClientApp()


def received_model(message: Message):
    """The model that the server sent."""
    model = make_model()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    return model


def own_data(context: Context):
    """The client's data: for training, for testing."""
    where = context.node_config
    return load_data(int(where["partition-id"]), int(where["num-partitions"]))


@app.train()
def on_train(message: Message, context: Context) -> Message:
    """Train, and answer with the model."""
    model, config = received_model(message), message.content["config"]
    data, _ = own_data(context)
    settings = context.run_config
    loss = train(
        model,
        data,
        settings["local-epochs"],
        settings["batch-size"],
        settings["learning-rate"],
        config.get("proximal-mu", 0.0),
        seed=1000 * config["server-round"] + int(context.node_config["partition-id"]),
    )
    metrics = MetricRecord({"loss": loss, "num-examples": len(data[1])})
    content = RecordDict({"arrays": ArrayRecord(model.state_dict()), "metrics": metrics})
    return Message(content, reply_to=message)


@app.evaluate()
def on_evaluate(message: Message, context: Context) -> Message:
    """Evaluate, and answer with loss and accuracy."""
    _, data = own_data(context)
    loss, accuracy = test(received_model(message), data)
    metrics = MetricRecord({"loss": loss, "accuracy": accuracy, "num-examples": len(data[1])})
    return Message(RecordDict({"metrics": metrics}), reply_to=message)
