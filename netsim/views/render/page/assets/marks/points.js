// Points with bars around them, and a level to compare with.
"use strict";
report.mark("points", (body, data) => {
  const { number, colour, css } = report;
  const { x, y, half, of } = data;
  const [low, high] = [y.values.map((one, k) => Math.max(0, one - half[k])), y.values.map((one, k) => one + half[k])];
  body.append(charts.legend([{ name: data.says[0], colour: colour(0) }, { name: data.says[1], colour: css("muted"), rule: true }]));
  const none = { width: 0, stroke: "transparent", points: { show: false } };
  charts.chart(body, `${y.label} by ${x.label}`, {
    height: 280, series: [{}, none, none, { width: 0, stroke: () => colour(0), points: { show: true, size: 9, fill: () => colour(0) } }, { width: 1.5, dash: [5, 4], stroke: () => css("muted"), points: { show: false } }],
    bands: [{ series: [1, 2], fill: () => colour(0) + "33" }],
    scales: { x: { time: false }, y: {} },
    axes: [charts.axis(charts.titled(x)), charts.axis(charts.titled(y), { size: 62 })],
    says: (k) => `${x.label} ${number(x.values[k])} · ${number(y.values[k], 3)} ± ${number(half[k], 2)} · ${number(of.values[k])} ${of.label}`,
  }, [x.values, high, low, y.values, x.values.map(() => data.level)]);
});
