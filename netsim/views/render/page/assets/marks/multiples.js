// The main metric over time at every point, on the same axes.
"use strict";
report.mark("multiples", (body, data) => {
  const { element, number, colour } = report;
  const scale = data.is_share ? 100 : 1;
  const metric = data.metric.replaceAll("_", " ");
  const label = `${metric[0].toUpperCase()}${metric.slice(1)}${data.is_share ? " [%]" : ""}`;
  const keys = element("div");
  const grid = element("div", { class: data.points.length > 1 ? "many" : "one" });
  body.append(keys, grid);
  const lines = data.points.flatMap((one) => one.lines);
  const legend = () => keys.replaceChildren(charts.legend(data.algorithms.map((name, k) => ({ name, colour: colour(k), rule: true }))),
    element("p", { class: "muted" }, data.around ? `Mean over seeds of the mean over nodes; ${data.around}. All charts have the same axes.`
      : "Mean over nodes, once all have a model; one seed. All charts have the same axes."));
  legend();
  report.listen("theme", legend);
  const all = lines.flatMap((line) => line.each ? line.each.flat() : line.mean.flatMap((value, k) => [value - (line.std ? line.std[k] : 0), value + (line.std ? line.std[k] : 0)]));
  const known = all.filter((value) => Number.isFinite(value));
  const [low, high] = [Math.min(...known) * scale, Math.max(...known) * scale];
  const spread = Math.max(high - low, Math.abs(high) * 0.02) * 0.06 || 1;  // 1: all of it is nought
  const end = Math.max(...lines.map((line) => line.t_s[line.t_s.length - 1]));
  data.points.forEach((one) => {
    const figure = element("figure", null, one.point ? element("h3", null, one.point) : null);
    grid.append(figure);
    const x = [...new Set(one.lines.flatMap((line) => line.t_s))].sort((a, b) => a - b);
    const drawn = { series: [{}], rows: [], bands: [] };
    one.lines.forEach((line) => {
      const k = data.algorithms.indexOf(line.algorithm);
      const at = new Map(line.t_s.map((t, j) => [t, j]));
      const row = (made) => x.map((t) => (at.has(t) ? made(at.get(t)) * scale : null));
      const edge = (sign) => row((j) => Math.min(line.mean[j] + sign * line.std[j], data.is_share ? 1 : Infinity));
      charts.addCurve(drawn, k, row((j) => line.mean[j]), {
        each: line.each?.map((seed) => row((j) => seed[j])), band: line.std ? [edge(1), edge(-1)] : null, width: 2,
      });
    });
    charts.chart(figure, `${label} over virtual time at ${one.point}`, {
      height: data.points.length > 1 ? 190 : 320, series: drawn.series, bands: drawn.bands,
      scales: { x: { time: false, range: () => [0, end] }, y: { range: () => [Math.max(low - spread, low >= 0 ? 0 : -Infinity), high + spread] } },
      axes: [charts.axis("Virtual time [s]", { space: 60 }), charts.axis(label, { size: 50, space: 36 })],
      says: (k) => [`${number(x[k])} s`, ...one.lines.map((line) => { const j = line.t_s.indexOf(x[k]); return j < 0 ? null : `${line.algorithm} ${number(line.mean[j] * scale)}`; }).filter(Boolean)].join(" · "),
    }, [x, ...drawn.rows]);
  });
  if (data.left_out) body.append(element("p", { class: "muted" }, `${data.left_out} further points are not drawn.`));
});
