// Parallel coordinates: an axis a swept key and a result, a line a point; ranges choose lines.
"use strict";
report.mark("parallel", (body, data) => {
  const { element, number, css, isDark } = report;
  const { axes, labels } = data;
  const ends = axes.map((axis) => {
    const known = axis.values.filter((value) => value !== null);
    return [Math.min(...known), Math.max(...known)];
  });
  const chosen = axes.map(() => [0, 1]);
  let by = axes.findIndex((axis) => axis.is_result);
  if (by < 0) by = axes.length - 1;
  const bar = element("div", { class: "bar" });
  const space = element("div", { class: "sideways" });
  const readout = element("div", { class: "readout", "aria-live": "polite" });
  const ranges = element("details", null, element("summary", null, "Choose lines by range"));
  body.append(element("p", { class: "muted" }, "A line a point of the sweep and algorithm, coloured by one axis."), bar, space, readout, ranges);
  bar.append(charts.select("Colour by", axes.map((axis, k) => [k, axis.title]), (k) => { by = k; draw(); }, by));
  axes.forEach((axis, k) => {
    const row = element("div", { class: "bar" }, element("span", null, axis.title));
    [0, 1].forEach((end) => {
      const input = element("input", { type: "range", min: 0, max: 1, step: 0.01, value: end, "aria-label": `${axis.title}, ${end ? "to" : "from"}` });
      input.addEventListener("input", () => { chosen[k][end] = Number(input.value); draw(); });
      row.append(input);
    });
    ranges.append(row);
  });
  const { mark } = charts;
  const share = (k, value) => {
    const [low, high] = ends[k];
    if (high <= low) return 0.5;
    return axes[k].is_log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  };
  const stops = () => (isDark() ? [[120, 94, 160], [86, 160, 220], [246, 222, 110]] : [[160, 160, 168], [0, 114, 178], [110, 40, 110]]);
  const shade = (at) => `rgb(${charts.blend(stops(), at)})`;
  function draw() {
    const width = charts.width(body, 560);
    const [height, topEdge, side] = [360, 44, 60];
    const x = (k) => side + (k * (width - 2 * side)) / Math.max(1, axes.length - 1);
    const y = (at) => height - 26 - at * (height - topEdge - 26);
    const svg = mark("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": `Parallel coordinates of ${axes.map((axis) => axis.title).join(", ")}` });
    const lines = labels.map((_, r) => r).filter((r) => axes.every((axis, k) => {
      if (axis.values[r] === null) return true;
      const at = share(k, axis.values[r]);
      return at >= chosen[k][0] - 1e-9 && at <= chosen[k][1] + 1e-9;
    }));
    lines.sort((a, b) => (axes[by].values[a] ?? -Infinity) - (axes[by].values[b] ?? -Infinity));
    lines.forEach((r) => {
      let path = "";
      axes.forEach((axis, k) => {
        if (axis.values[r] === null) return;
        path += `${path ? "L" : "M"}${x(k).toFixed(1)} ${y(share(k, axis.values[r])).toFixed(1)}`;
      });
      const value = axes[by].values[r];
      const line = mark("path", { d: path, fill: "none", stroke: value === null ? css("thin") : shade(share(by, value)), "stroke-width": lines.length > 200 ? 1 : 1.8, opacity: lines.length > 200 ? 0.5 : 0.85 });
      line.append(mark("title", {}, labels[r]));
      line.addEventListener("mouseenter", () => { line.setAttribute("stroke-width", 4); readout.textContent = says(r); });
      line.addEventListener("mouseleave", () => line.setAttribute("stroke-width", 1.8));
      svg.append(line);
    });
    axes.forEach((axis, k) => {
      svg.append(mark("line", { x1: x(k), x2: x(k), y1: y(0), y2: y(1), stroke: css("text"), "stroke-width": 1.2 }));
      const anchor = k === 0 ? "start" : k === axes.length - 1 ? "end" : "middle";
      svg.append(mark("text", { x: k === 0 ? 4 : k === axes.length - 1 ? width - 4 : x(k), y: k % 2 ? 14 : 30, "text-anchor": anchor, "font-weight": k === by ? 700 : 400 }, axis.title));
      const [low, high] = ends[k];
      const distinct = [...new Set(axis.values.filter((value) => value !== null))];
      const told = spelling({ values: ends[k], unit: axis.title.endsWith("[%]") ? "%" : "" });
      const marks = !axis.words && distinct.length <= 6 ? distinct.map((value) => [value, number(value, 3)]) : axis.words ? axis.words.map((word, j) => [j, word]) : [0, 0.25, 0.5, 0.75, 1].map((at) => {
        const value = axis.is_log ? low * (high / low) ** at : low + (high - low) * at;
        return [value, told(value)];
      });
      marks.forEach(([value, text]) => {
        const label = mark("text", { x: x(k) - 6, y: y(share(k, value)) + 4, "text-anchor": "end", stroke: css("card"), "stroke-width": 5, "paint-order": "stroke" }, text);
        svg.append(label);
      });
    });
    space.replaceChildren(svg);
    readout.textContent = `${lines.length} of ${labels.length} lines`;
  }
  function says(r) { return `${labels[r]}: ${axes.map((axis) => `${axis.title} ${axis.values[r] === null ? "–" : axis.words ? axis.words[axis.values[r]] : number(axis.values[r])}`).join(" · ")}`; }
  report.listen("theme", draw);
  draw();
});
