"use strict";
report.panel("delays", "Delay and age of messages", (body, data) => {
  const { element, number, seconds, colour } = report;
  const grid = element("div", { class: "two" });
  body.append(grid);
  const one = (shown, title, label, what) => {
    if (!shown) return;
    const figure = element("figure", null, element("h3", null, title), element("p", { class: "muted" }, `Share of ${what} at or below a time.`));
    grid.append(figure);
    const lines = shown.lines;
    const keys = element("div");
    const legend = () => keys.replaceChildren(charts.legend(lines.map((line, k) => ({
      name: `${line.kind}: median ${seconds(line.median_s)}, 95 % ${seconds(line.p95_s)}, most ${seconds(line.max_s)}`, colour: colour(k), rule: true,
    }))));
    figure.append(keys);
    legend();
    report.listen("theme", legend);
    charts.chart(figure, `${title}: share of ${what} at or below a time`, {
      height: 260,
      series: [{}, ...lines.map((_, k) => ({ width: 2.2, stroke: () => colour(k), points: { show: false }, dash: k >= 4 ? [6, 4] : undefined }))],
      scales: { x: { time: false, distr: shown.is_log ? 3 : 1 }, y: { range: () => [0, 100] } },
      axes: [charts.axis(label, shown.is_log ? { space: 60, filter: powers } : {}),
        charts.axis("Share [%]", { size: 50 })],
      says: (k) => [`at most ${seconds(shown.at_s[k])}`, ...lines.map((line) => `${line.kind} ${number(100 * line.share[k], 3)} %`)].join(" · "),
    }, [shown.at_s, ...lines.map((line) => line.share.map((share) => 100 * share))]);
  };
  // On a logarithmic axis a label at each power of ten.
  function powers(plot, splits) {
    return splits.map((tick) => (Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) < 1e-6 ? tick : null));
  }
  one(data.delay, "Delay: from sending to arrival", "Delay [s]", "messages that arrived");
  one(data.staleness, "Age: from sending to use", "Age at use [s]", "messages used");
});
