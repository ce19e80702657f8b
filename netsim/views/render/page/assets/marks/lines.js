// Curves with bands over a common axis; distributions in percent, on a logarithmic axis where times are far apart.
"use strict";
report.mark("lines", (body, data) => {
  const { element, number, seconds, colour } = report;
  const { x, y, lines, axis } = data;
  const distribution = axis === "distribution";
  const keys = element("div");
  body.append(keys);
  const legend = () => keys.replaceChildren(charts.legend(lines.map(({ name, told, silent }, k) => ({ name: silent ? `${name} (${data.silent})` : told ? `${name}: ${told}` : name, colour: colour(k), rule: true }))));
  const drawn = { series: [{}], rows: [], bands: [] };
  // A curve that ends near 0 has nothing to be drawn over; its level can still be compared with.
  const end = Math.max(...x.values);
  const reach = (line) => Math.max(0, ...x.values.filter((_, j) => line.y[j] !== null));
  lines.forEach((line, k) => {
    line.silent = Boolean(data.silent) && reach(line) < 0.005 * end;
    if (line.silent) {
      const level = line.y.filter((one) => one !== null).pop();
      line.y = x.values.map(() => level);
    }
    charts.addCurve(drawn, k, line.y, {
      each: line.silent ? null : line.each, band: line.silent || line.each || !line.low ? null : [line.high, line.low], width: 2.2,
      dash: line.silent ? [4, 4] : k >= 4 ? [[6, 4], [2, 3]][(k >> 2) - 1] || [8, 3, 2, 3] : undefined,
    });
  });
  legend();
  report.listen("theme", legend);
  if (data.left_out) body.append(element("p", { class: "muted" }, `${data.left_out} of more than three curves hide each other and are left out.`));
  // On a logarithmic axis a label at each power of ten.
  function powers(_, splits) {
    return splits.map((tick) => (Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) < 1e-6 ? tick : null));
  }
  const range = (_, low, high) => (distribution ? [0, 100] : charts.around(low, high, axis === "share"));
  const at = (value) => (x.unit === "s" ? seconds(value) : `${number(value, 4)} ${x.unit}`.trim());
  charts.chart(body, `${y.label} against ${x.label}`, {
    height: 320, series: drawn.series, bands: drawn.bands,
    scales: { x: { time: false, distr: data.is_log ? 3 : 1 }, y: { range } },
    axes: [charts.axis(charts.titled(x), data.is_log ? { space: 60, filter: powers } : { space: 60 }), charts.axis(charts.titled(y), { size: 58 })],
    says: (k) => [`${distribution ? "at most" : "at"} ${at(x.values[k])}`, ...lines.filter((line) => line.y[k] !== null).map((line) => `${line.name} ${number(line.y[k], 4)}${y.unit ? ` ${y.unit}` : ""}`)].join(" · "),
  }, [x.values, ...drawn.rows]);
});
