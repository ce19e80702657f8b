// Metrics of every node and their mean against virtual time, or against what they cost.
"use strict";
report.mark("curves", (body, data) => {
  const { element, number, css, colour, page } = report;
  const AXES = {
    t_s: "Virtual time [s]", megabytes: "Transmitted by the node, headers included [MB]",
    energy_j: "Energy spent by the node [J]", steps: "Local steps of the node",
  };
  const POINTS = 240;
  let metric = data.metrics[0];
  let against = "t_s";
  let plot = null;

  const bar = element("div", { class: "bar" });
  const space = element("div");
  const keys = element("div");
  body.append(bar, space, keys);

  const metricChoice = charts.select("Metric", data.metrics.map((one, k) => [k, spelled(one)]), (k) => { metric = data.metrics[k]; controls(); draw(); });
  const axisBox = element("div");
  const picker = element("input", { type: "text", size: 12, placeholder: "such as 3, 7", onchange: () => {
    report.pick(picker.value.split(/[^0-9]+/).filter(Boolean).map(Number).filter((node) => metric.nodes.includes(node)));
  } });
  bar.append(metricChoice, axisBox, element("label", null, "Nodes picked out ", picker));

  function spelled(one) {
    const words = one.name.replaceAll("_", " ");
    return words[0].toUpperCase() + words.slice(1) + (one.is_share ? " [%]" : "");
  }
  function controls() {
    const there = ["t_s", ...Object.keys(metric.axes)];
    if (!there.includes(against)) against = "t_s";
    axisBox.replaceChildren(charts.choice("against", there.map((name) => [name, { t_s: "time", megabytes: "bytes", energy_j: "energy", steps: "steps" }[name]]),
      (name) => { against = name; draw(); }, against));
  }
  // A line's values on common places x: straight between its points, nothing beyond its ends.
  function onto(x, at, values) {
    const out = new Array(x.length).fill(null);
    let k = 0;
    const points = at.map((place, j) => [place, values[j]]).filter(([place, value]) => place !== null && value !== null);
    for (let j = 0; j < x.length && points.length; j++) {
      if (x[j] < points[0][0] || x[j] > points[points.length - 1][0]) continue;
      while (k + 1 < points.length && points[k + 1][0] < x[j]) k++;
      const [low, from] = points[k];
      const [high, to] = points[Math.min(k + 1, points.length - 1)];
      out[j] = high > low ? from + (to - from) * Math.min(1, Math.max(0, (x[j] - low) / (high - low))) : to;
    }
    return out;
  }
  function means(rows) {
    return rows[0].map((_, k) => {
      const there = rows.map((row) => row[k]).filter((value) => value !== null);
      return there.length ? there.reduce((sum, value) => sum + value, 0) / there.length : null;
    });
  }
  function draw() {
    if (plot) plot.destroy();
    space.replaceChildren();
    keys.replaceChildren();
    const scale = metric.is_share ? 100 : 1;
    const scaled = (row) => row.map((value) => (value === null ? null : value * scale));
    const rows = metric.values.map(scaled);
    const mean = scaled(metric.mean);
    let x = metric.t_s;
    let nodes = rows;
    let middle = mean;
    if (against !== "t_s") {
      const at = metric.axes[against];
      const flat = at.flat().filter((value) => value !== null);
      const [low, high] = flat.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
      x = Array.from({ length: POINTS }, (_, k) => low + ((high - low) * k) / (POINTS - 1));
      nodes = rows.map((row, k) => onto(x, at[k], row));
      middle = onto(x, means(at), mean);
    }
    const many = nodes.length;
    const series = [{}];
    for (let k = 0; k < many; k++) {
      series.push({
        width: 1, spanGaps: true,
        stroke: () => { const place = page.picked.indexOf(metric.nodes[k]); return place < 0 ? css("thin") : colour(place); },
      });
    }
    series.push({ width: 3, spanGaps: true, stroke: () => css("mean") });
    plot = charts.chart(space, `${spelled(metric)} of every node and their mean against ${AXES[against]}`, {
      height: 340, series,
      scales: { x: { time: false }, y: { range: (_, low, high) => charts.around(low, high, metric.is_share) } },
      axes: [charts.axis(AXES[against]), charts.axis(spelled(metric), { size: 62 })],
      says: (k) => {
        const told = report.page.picked.map((node) => [node, nodes[metric.nodes.indexOf(node)]]).filter(([, row]) => row)
          .map(([node, row]) => `node ${node}: ${number(row[k])}`);
        return [`${against === "t_s" ? "at " + number(x[k], 5) + " s" : AXES[against].replace(/ \[.*/, "") + " " + number(x[k])}`,
          `mean ${number(middle[k])}`, ...told].join(" · ");
      },
    }, [x, ...nodes, middle]);
    emphasise();
  }
  function emphasise() {
    if (!plot) return;
    for (let k = 0; k < metric.nodes.length; k++) plot.series[k + 1].width = page.picked.includes(metric.nodes[k]) ? 2.5 : 1;
    plot.redraw(false);
    picker.value = page.picked.join(", ");
    keys.replaceChildren(charts.legend([
      { name: `mean over ${number(metric.nodes.length)} nodes, once all have a model`, colour: css("mean"), rule: true },
      { name: "a node", colour: css("thin"), rule: true },
      ...page.picked.filter((node) => metric.nodes.includes(node)).map((node) => ({ name: `node ${node}`, colour: colour(page.picked.indexOf(node)), rule: true })),
    ]));
    if (data.left_out.length) keys.append(element("p", { class: "muted" }, `Not shown: ${data.left_out.join(", ")}.`));
  }
  report.listen("picked", emphasise);
  report.listen("theme", emphasise);
  controls();
  draw();
});
