"""Gains of a measured 802.15.4 network, for `path_loss.kind = "gains"`.

    python examples/measured_links.py grenoble_iotlab_802154.k7.gz grenoble.npz

reads a k7 file of the 6TiSCH simulator: a line of JSON, then `datetime, src, dst, channel,
mean_rssi, pdr, tx_count`. A gain is the RSSI, as a mean over channels of powers, less the transmit
power, which such files don't state (`--tx-power-dbm`, 0 for the nodes of IoT-LAB). Every
`--hours` of the measurement become one matrix, `--seconds` apart; a pair without a row has -inf.
RSSI is that of packets received: of weak links it tells the better moments.
"""

import argparse
import csv
import gzip
import json
from datetime import datetime

import numpy as np


def main() -> None:
    """Read, average, write."""
    args = _arguments()
    opener = gzip.open if args.k7.endswith(".gz") else open
    with opener(args.k7, "rt", encoding="utf-8") as file:
        header = json.loads(file.readline())
        rows = list(csv.DictReader(file))
    nodes = int(header["node_count"])
    begins = datetime.fromisoformat(header["start_date"])
    passed_h = [
        (datetime.fromisoformat(row["datetime"]) - begins).total_seconds() / 3600 for row in rows
    ]
    span = np.array([int(hours // args.hours) for hours in passed_h])
    src, dst = (np.array([int(row[end]) for row in rows]) for end in ("src", "dst"))
    rssi_dbm = np.array([float(row["mean_rssi"] or "-inf") for row in rows])
    shape = (int(span.max()) + 1, nodes, nodes)
    power_mw, count = np.zeros(shape), np.zeros(shape)
    heard = np.isfinite(rssi_dbm)
    at = (span[heard], src[heard], dst[heard])
    np.add.at(power_mw, at, 10.0 ** (rssi_dbm[heard] / 10.0))
    np.add.at(count, at, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain_db = np.where(count > 0, 10.0 * np.log10(power_mw / count), -np.inf)
    gain_db -= args.tx_power_dbm
    t_s = args.seconds * np.arange(len(gain_db))
    np.savez_compressed(args.npz, gain_db=gain_db, t_s=t_s, carrier_hz=np.array(2.44e9))
    known = np.isfinite(gain_db)
    print(
        f"{nodes} nodes, {len(gain_db)} matrices; {known.mean(axis=0).sum():.0f} directed links on "
        f"average, {gain_db[known].min():.1f} to {gain_db[known].max():.1f} dB"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("k7")
    parser.add_argument("npz")
    parser.add_argument("--tx-power-dbm", type=float, default=0.0)
    parser.add_argument("--hours", type=float, default=4.0, help="of the measurement, a matrix")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the run, a matrix")
    return parser.parse_args()


if __name__ == "__main__":
    main()
