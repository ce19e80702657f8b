"use strict";
report.panel("time_use", "Where virtual time went", (body, data) => {
  const { element, number, named, STATES } = report;
  const nodes = data.seconds[0].length;
  const total = data.seconds.map((row) => row.reduce((sum, value) => sum + value, 0));
  const note = data.is_recorded
    ? "As recorded. A radio and a processor work at the same time: the columns of a node may add up to more than the run."
    : "Worked out from messages and training jobs, at the mean time of a step; of what happens at the same time the first counts: off, train, transmit (waiting for the medium included), receive, asleep, wait.";
  body.append(element("p", { class: "muted" }, note));
  const bar = element("div", { class: "bar" });
  const space = element("div");
  body.append(bar, space);
  let order = Array.from({ length: nodes }, (_, k) => k);
  let plot = null;
  const select = element("select", { onchange: () => {
    const k = Number(select.value);
    order = Array.from({ length: nodes }, (_, j) => j);
    if (k >= 0) order.sort((a, b) => data.seconds[k][b] - data.seconds[k][a] || a - b);
    draw();
  } });
  select.append(element("option", { value: -1 }, "number"));
  data.states.forEach((name, k) => select.append(element("option", { value: k }, `time at "${name}"`)));
  bar.append(element("label", null, "Nodes by ", select));
  const idle = element("input", { type: "checkbox", checked: true, onchange: () => draw() });
  if (data.states.includes("wait")) bar.append(element("label", null, idle, " with waiting"));
  function draw() {
    if (plot) plot.destroy();
    space.replaceChildren();
    const layers = data.states.map((name, k) => ({ name, colour: named(STATES, name, k), share: (100 * total[k]) / (nodes * data.end_s), values: order.map((node) => data.seconds[k][node]) }))
      .filter((layer) => idle.checked || layer.name !== "wait");
    space.append(charts.legend(layers.map(({ name, share, colour }) => ({ name: `${name} ${number(share, 3)} %`, colour }))));
    plot = charts.stacked(space, "Seconds of every node by what it was at", {
      x: order.map((_, k) => k), layers, xLabel: Number(select.value) >= 0 ? "Nodes, in this order" : "Node",
      yLabel: "Virtual time [s]", xRange: [-0.6, nodes - 0.4], xWhole: true,
      says: (k) => [`node ${order[k]}`, ...layers.map((layer) => [layer.name, layer.values[k]]).filter(([, value]) => value).map(([name, value]) => `${name} ${number(value)} s`)].join(" · "),
    });
  }
  draw();
});
