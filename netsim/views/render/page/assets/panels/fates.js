"use strict";
report.panel("fates", "What became of messages", (body, data) => {
  const { element, number, named, OUTCOMES } = report;
  const bar = element("div", { class: "bar" });
  const space = element("div");
  const note = element("p", { class: "muted" });
  body.append(bar, space, note);
  let plot = null;
  let kind = -1;
  let measure = "count";
  if (data.kinds.length > 1) {
    const select = element("select", { onchange: () => { kind = Number(select.value); draw(); } });
    select.append(element("option", { value: -1 }, "all"));
    data.kinds.forEach((name, k) => select.append(element("option", { value: k }, name)));
    bar.append(element("label", null, "Kind of message ", select));
  }
  bar.append(charts.choice("as", [["count", "number"], ["share", "share"]], (value) => { measure = value; draw(); }));

  function draw() {
    if (plot) plot.destroy();
    space.replaceChildren();
    const chosen = data.counts.filter((_, k) => kind < 0 || k === kind);
    const sums = data.outcomes.map((_, o) => data.ends_s.map((__, t) => chosen.reduce((sum, one) => sum + one[o][t], 0)));
    const total = data.ends_s.map((_, t) => sums.reduce((sum, row) => sum + row[t], 0));
    const share = measure === "share";
    const layers = data.outcomes.map((name, o) => ({
      name, colour: named(OUTCOMES, name, o),
      values: sums[o].map((value, t) => (share ? (total[t] ? (100 * value) / total[t] : 0) : value)),
    }));
    const wide = data.ends_s.length > 1 ? data.ends_s[1] - data.ends_s[0] : data.ends_s[0] || 1;
    const middles = data.ends_s.map((end) => end - wide / 2);
    const inAll = sums.map((row) => row.reduce((sum, value) => sum + value, 0));
    const sent = inAll.reduce((sum, value) => sum + value, 0);
    space.append(charts.legend(data.outcomes.map((name, o) => ({
      name: `${name} ${number(inAll[o])} (${number((100 * inAll[o]) / Math.max(sent, 1), 3)} %)`, colour: layers[o].colour,
    }))));
    plot = charts.stacked(space, "Messages by how they ended, over virtual time", {
      x: middles, layers, xLabel: "Virtual time at which they ended [s]",
      yLabel: share ? "Share of messages [%]" : `Messages in ${number(wide)} s`,
      xRange: [0, data.ends_s[data.ends_s.length - 1]],
      says: (t) => [`${number(data.ends_s[t] - wide, 4)} to ${number(data.ends_s[t], 4)} s`,
        ...data.outcomes.map((name, o) => [name, sums[o][t]]).filter(([, value]) => value).map(([name, value]) => `${name} ${number(value)}`)].join(" · "),
    });
    note.textContent = data.left_out ? `${data.left_out} rarer kinds of message are left out.` : "";
  }
  draw();
});
