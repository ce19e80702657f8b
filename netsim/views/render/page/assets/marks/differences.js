// Means and paired differences with their intervals: a row a point, a colour an algorithm.
"use strict";
report.mark("differences", (body, data) => {
  const { element, number, colour, css } = report;
  const bar = element("div", { class: "bar" });
  const note = element("p", { class: "muted" });
  const keys = element("div");
  const space = element("div");
  body.append(bar, note, keys, space);
  const points = [...new Set(data.rows.map((row) => row.point))];
  let measure = 0;
  const views = [
    ["to_point", `difference to ${data.first_point}`, points.length > 1],
    ["to_algorithm", `difference to ${data.first_algorithm}`, data.algorithms.length > 1],
    ["mean", "means", true],
  ].filter(([, , there]) => there);
  let view = views[0][0];
  bar.append(charts.select("Measure", data.measures.map((one, k) => [k, spelled(one)]), (k) => { measure = k; draw(); }), charts.choice("shown", views.map(([name, text]) => [name, text]), (name) => { view = name; draw(); }));

  function spelled(one) { return one.unit ? `${one.title} [${one.unit}]` : one.title; }
  // Both to the digits that the half-width allows, shares to one decimal: as tables on the terminal.
  function withHalf(mean, half, isShare) {
    const size = Math.max(half || Math.abs(mean) / 10, Math.abs(mean) / 100);
    const decimals = isShare ? 1 : size ? Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(size)))) : 0;
    const [told, around] = [mean, half].map((one) => (one === null ? "" : (Number(one.toFixed(decimals)) + 0).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })));
    return `${told.replace("-", "−")}${half === null ? "" : ` ± ${around}`}`;
  }
  const LETTER = 8; // a letter's width, at most on average
  const { mark } = charts;
  function draw() {
    const about = data.measures[measure];
    const there = data.rows.map((row) => ({ ...row, cell: row[view][measure] })).filter((row) => row.cell);
    const algorithms = data.algorithms.filter((name) => there.some((row) => row.algorithm === name));
    const around = data.around[view][measure];
    note.textContent = [
      !around.drawn ? "One seed" : view === "mean" ? "Mean over seeds" : "Mean over seeds of the difference within each seed",
      around.drawn + (around.has_bars && view !== "mean" ? ": where it does not cross 0, there is a difference" : ""), around.printed,
    ].filter(Boolean).join("; ") + ".";
    keys.replaceChildren(algorithms.length ? charts.legend(algorithms.map((name) => ({ name, colour: colour(data.algorithms.indexOf(name)) }))) : "");
    space.replaceChildren();
    if (!there.length) { space.append(element("p", { class: "muted" }, "No run has this number, or there is nothing to compare it with.")); return; }
    const ends = there.flatMap(({ cell: [mean, half, , each] }) => each || [mean - (half || 0), mean + (half || 0)]).map((v) => v * about.scale);
    if (view !== "mean") ends.push(0);
    let [low, high] = [Math.min(...ends), Math.max(...ends)];
    const pad = Math.max(high - low, Math.abs(high) * 1e-3) * 0.05 || 1;  // 1: all of it is nought
    [low, high] = [low - pad, high + pad];
    const rowsOf = points.filter((point) => there.some((row) => row.point === point));
    const width = charts.width(body, 320);
    const is_narrow = width < 520; // then a point's name stands above its dots
    const side = is_narrow ? 12 : Math.min(width * 0.36, 12 + LETTER * Math.max(...rowsOf.map((point) => point.length)));
    const head = is_narrow ? 18 : 0;
    const tall = Math.max(24, 15 * algorithms.length + 10) + head;
    const height = tall * rowsOf.length + 52;
    const fewer = ({ cell: [, , seeds] }) => (seeds < data.seeds ? ` (${seeds} of ${data.seeds})` : "");
    const right = there.some(fewer) ? 194 : 130;
    const at = (value) => side + ((value - low) / (high - low)) * (width - side - right);
    const svg = mark("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": `${spelled(about)}: ${views.find(([name]) => name === view)[1]}` });
    const ticks = charts.niceTicks(low, high, is_narrow ? 3 : 6);
    ticks.forEach((tick) => {
      svg.append(mark("line", { x1: at(tick), x2: at(tick), y1: 4, y2: height - 44, stroke: css("grid") }),
        mark("text", { x: at(tick), y: height - 28, "text-anchor": "middle" }, number(tick)));
    });
    if (view !== "mean") svg.append(mark("line", { x1: at(0), x2: at(0), y1: 4, y2: height - 44, stroke: css("muted"), "stroke-width": 1.6 }));
    rowsOf.forEach((point, r) => {
      const text = is_narrow ? mark("text", { x: 0, y: tall * r + 16, stroke: css("card"), "stroke-width": 4, "paint-order": "stroke" }, point)
        : mark("text", { x: side - 10, y: tall * r + tall / 2 + 4, "text-anchor": "end" }, point.length * LETTER > side ? `${point.slice(0, Math.floor(side / LETTER) - 1)}…` : point);
      text.append(mark("title", {}, point));
      svg.append(text);
      if (r) svg.append(mark("line", { x1: 0, x2: width, y1: tall * r, y2: tall * r, stroke: css("grid") }));
      there.filter((row) => row.point === point).forEach((row) => {
        const k = algorithms.indexOf(row.algorithm);
        const y = tall * r + head + (tall - head) * (((k + 0.5) / algorithms.length) * 0.8 + 0.1);
        const [mean, half, seeds, each] = row.cell;
        const group = mark("g", { stroke: colour(data.algorithms.indexOf(row.algorithm)), fill: colour(data.algorithms.indexOf(row.algorithm)) });
        if (half !== null && !each) group.append(mark("line", { x1: at((mean - half) * about.scale), x2: at((mean + half) * about.scale), y1: y, y2: y, "stroke-width": 2.5 }));
        group.append(mark("circle", { cx: at(mean * about.scale), cy: y, r: 4 }));
        (each || []).forEach((value) => group.append(mark("circle", { cx: at(value * about.scale), cy: y, r: 2.5, stroke: css("card"), "stroke-width": 0.8 })));
        const sign = view !== "mean" && mean > 0 ? "+" : "";
        const words = `${sign}${withHalf(mean * about.scale, half === null ? null : half * about.scale, about.unit === "%")}`;
        group.append(mark("title", {}, `${point}, ${row.algorithm}: ${words} ${about.unit}, ${seeds} seeds`));
        svg.append(group, mark("text", { x: width - right + 8, y: y + 4 }, `${words}${fewer(row)}`));
      });
    });
    svg.append(mark("text", { x: is_narrow ? 0 : (side + width - right) / 2, y: height - 8, "text-anchor": is_narrow ? "start" : "middle" }, view === "mean" ? spelled(about) : `Difference in ${about.title}${about.unit ? ` [${about.unit === "%" ? "percentage points" : about.unit}]` : ""}`));
    space.append(svg);
  }
  report.listen("theme", draw);
  draw();
});
