// Columns stacked on each other: by kind, as numbers or shares, in the order of one layer.
"use strict";
report.mark("layers", (body, data) => {
  const { element, number, named } = report;
  const { x, y, layers, by, heights, order } = data;
  const bar = element("div", { class: "bar" });
  const space = element("div");
  body.append(bar, space);
  const places = x.values.map((_, k) => k);
  let shown = places;
  let plot = null;
  let kind = -1;
  let share = false;
  let hidden = null;
  if (by && by.words.length > 1) {
    bar.append(charts.select(by.label, [[-1, "all"], ...by.words.map((word, k) => [k, word])], (k) => { kind = k; draw(); }));
  }
  if (order) {
    bar.append(charts.select(`${x.label}s by`, [[-1, "number"], ...layers.map(({ name }, k) => [k, `time at "${name}"`])], (k) => {
      shown = k < 0 ? places : [...places].sort((a, b) => heights[0][k][b] - heights[0][k][a] || a - b);
      draw();
    }));
    if (layers.some(({ name }) => name === "wait")) {
      const idle = element("input", { type: "checkbox", checked: true, onchange: () => { hidden = idle.checked ? null : "wait"; draw(); } });
      bar.append(element("label", null, idle, " with waiting"));
    }
  } else bar.append(charts.choice("as", [["count", "number"], ["share", "share"]], (value) => { share = value === "share"; draw(); }));

  function draw() {
    if (plot) plot.destroy();
    space.replaceChildren();
    const chosen = heights.filter((_, k) => kind < 0 || k === kind);
    const sums = layers.map((_, l) => places.map((k) => chosen.reduce((sum, one) => sum + one[l][k], 0)));
    const total = places.map((k) => sums.reduce((sum, row) => sum + row[k], 0));
    const inAll = sums.map((row) => row.reduce((sum, value) => sum + value, 0));
    const whole = data.whole || Math.max(inAll.reduce((sum, value) => sum + value, 0), 1e-12);
    const drawn = layers.map(({ name, colour }, l) => ({
      name, colour: colour || named({}, name, l), all: inAll[l], sums: sums[l],
      values: shown.map((k) => (share ? (total[k] ? (100 * sums[l][k]) / total[k] : 0) : sums[l][k])),
    })).filter(({ name }) => name !== hidden);
    space.append(charts.legend(drawn.map(({ name, colour, all }) => ({
      name: order ? `${name} ${number((100 * all) / whole, 3)} %` : `${name} ${number(all)} (${number((100 * all) / whole, 3)} %)`, colour,
    }))));
    const half = data.width / 2;
    const unit = x.unit ? ` ${x.unit}` : "";
    plot = charts.stacked(space, `${y.label} by ${x.label}`, {
      x: order ? places : x.values, layers: drawn, xWhole: order,
      xLabel: shown === places ? charts.titled(x) : `${x.label}s, in this order`,
      yLabel: share ? "Share [%]" : charts.titled(y),
      xRange: [x.values[0] - half, x.values[x.values.length - 1] + half],
      says: (at) => [order ? `${x.label} ${x.values[shown[at]]}` : `${number(x.values[at] - half, 4)} to ${number(x.values[at] + half, 4)}${unit}`,
        ...drawn.map((one) => [one.name, one.sums[shown[at]]]).filter(([, value]) => value).map(([name, value]) => `${name} ${number(value)}${y.unit ? ` ${y.unit}` : ""}`)].join(" · "),
    });
  }
  draw();
});
