"""Files of channels and movements at the command line: what is refused, and the keys that are."""
# ruff: noqa: E501 - one case a line reads better than a tidy margin

import numpy as np
import pytest

RADIO = ["radio.mac.kind=orthogonal"]


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    np.savez(folder / "loss.npz", gain_db=np.full((4, 4), 80.0))
    np.savez(folder / "few.npz", gain_db=np.full((3, 3), -80.0))
    (folder / "text.txt").write_text("0 1 2\n0 1\n")
    (folder / "per.csv").write_text("rate,bytes,snr_db,per\n1e6,1000,0,2\n")
    return folder


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (["radio.path_loss={kind = 'gains', path = 'F/loss.npz'}"], '[radio.path_loss] path = "F/loss.npz": member gain_db: the gain from node 0 to node 1 at time 0 s is 80 dB; a gain is received over sent power, at most 0 dB (a loss with its sign changed), and -inf where nothing arrives'),
        (["radio.path_loss={kind = 'gains', path = 'F/few.npz'}"], '[radio.path_loss] path = "F/few.npz": member gain_db: has 3 nodes, and node 3 is asked for ([nodes] count = 4); lower the count, or choose with nodes'),
        (["radio.path_loss={kind = 'deepmimo', path = 'F'}"], '[radio.path_loss] path = "F": neither it nor a folder in it has files power_tSSS_txIII_rRRR.mat or .npz; name the folder of a DeepMIMO v4 scenario'),
        (["radio.fading={kind = 'ns3_fad', path = 'F/text.txt'}"], '[radio.fading] path = "F/text.txt": line 2: has 2 samples, the lines before 3; a line is a resource block, a column a sample'),
        (["radio.packet_error={kind = 'table', path = 'F/per.csv'}"], '[radio.packet_error] path = "F/per.csv": line 2: per must be a probability, 0 to 1'),
        ([*RADIO, "nodes.placement=disc", "mobility={kind = 'bonnmotion', path = 'F/text.txt'}"], '[mobility] path = "F/text.txt": line 2: has 2 numbers, no multiple of 3 (t and 2 coordinates); for places in 3 dimensions set dimensions = 3'),
        ([*RADIO, "nodes.placement=disc", "mobility={kind = 'sumo', path = 'F/text.txt'}"], '[mobility] path = "F/text.txt": line 1: is no XML (syntax error)'),
        ([*RADIO, "mobility={kind = 'ns2', path = 'F/text.txt'}"], '[mobility] kind = "ns2": nodes have no places under [nodes] placement = "iid_links"; set "disc", "square" or "given"'),
    ],
)  # fmt: skip
def test_a_bad_file_ends_with_2_and_one_line(netsim, written, files, sets, message):
    options = [o.replace("F/", f"{files}/").replace("'F'", f"'{files}'") for o in sets]
    result = netsim("run", "s.toml", *[x for o in options for x in ("--set", o)])
    assert result.exit_code == 2, result.output
    assert written() == set()
    told = result.stderr.replace(str(files), "F")
    assert told == f"s.toml: {message}\n"


def test_the_keys_of_files_are_listed(netsim):
    text = netsim("list", "channels", "--keys").stdout + netsim("list", "mobility", "--keys").stdout
    for kind in ("gains", "sionna_rt", "deepmimo", "table", "ns3_fad", "bonnmotion", "sumo", "ns2"):
        assert kind in text
    assert 'between = "hold"' in text
    assert "path (required)" in text
