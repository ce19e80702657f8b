"""Names on axes follow from keys, units and the files of methods."""

import pytest

from netsim.scenario import shipped
from netsim.views.gathering import names, swept


@pytest.mark.parametrize(
    ("path", "values", "expected"),
    [
        ("radio.bandwidth_hz", [5e4, 5e6], ("Bandwidth [MHz]", 1e6)),
        ("radio.bandwidth_hz", [5e4, 2e5], ("Bandwidth [kHz]", 1e3)),
        ("exchange.rate_hz", [0.1, 0.2], ("Rate [Hz]", 1.0)),
        ("link.rate_bps", [1e9], ("Rate [Gbit/s]", 1e9)),
        ("radio.packet_payload_bytes", [100, 900], ("Packet payload [byte]", 1.0)),
        ("radio.tx_power_dbm", [10, 2000], ("TX power [dBm]", 1.0)),
        ("radio.ttl_s", [0.001, 0.02], ("TTL [ms]", 1e-3)),
        ("exchange.interval_s", [1, 5000], ("Interval [s]", 1.0)),
        ("training.learning_rate", [0.1], ("Learning rate", 1.0)),
        ("nodes.count", [5, 10], ("Nodes: count", 1.0)),
        ("data.partition.alpha", [0.1], ("Partition: alpha", 1.0)),
        ("radio.fading.kind", ["none"], ("Radio: fading", 1.0)),
        ("horizon_s", [100], ("Horizon [s]", 1.0)),
    ],
)
def test_a_key_is_its_words_and_its_unit(path, values, expected):
    axis = names.key(path, values)
    assert (axis.title, axis.per) == expected


def test_a_method_is_called_as_its_file_spells_it():
    assert [names.method(n) for n in ("kd_pdfl", "fedavg", "fedavg_plus", "my_own", "../x")] == [
        "KD-PDFL", "FedAvg", "FedAvg+", "my_own", "../x",
    ]  # fmt: skip
    files = [p.stem for p in (shipped.PACKAGE.parent / "algorithms").glob("[a-z]*.py")]
    titles = [names.method(name) for name in files]
    assert len(set(titles)) == len(titles)


def test_metrics_measures_and_differences_have_units():
    assert names.metric("accuracy").title == "Test accuracy [%]"
    assert names.metric("loss").title == "Test loss"
    assert names.measure("delay_s").title == "Message delay [s]"
    assert names.measure("accuracy_std_nodes").title == "Accuracy, std over nodes [%]"
    accuracy, delay = names.metric("accuracy"), names.measure("delay_s")
    assert names.difference(accuracy, "FedAvg").title == "Difference to\nFedAvg [pp]"
    told = names.difference(delay, "X", alone=True).title
    assert told == "Message delay, difference to X [s]"


def test_a_value_in_a_legend_has_its_unit():
    told = swept.with_name("radio.bandwidth_hz", [2e5, 5e6])
    assert told == ["bandwidth 200 kHz", "bandwidth 5 MHz"]
    assert swept.with_name("training.batch_size", [10]) == ["batch size 10"]
    assert swept.with_name("radio.arq", [{"kind": "abort"}]) == ["radio: arq abort"]
