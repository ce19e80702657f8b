// The maps of several runs side by side, of the numbers that the page has of each.
"use strict";
report.mark("networks", (body, { others }) => {
  const numbers = (run) => report.found.get(run).network.panels[0].data;
  const draw = () => report.drawNetworks(body, others.map(({ run, label }) => ({ label, data: numbers(run) })));
  if (others.every(({ run }) => report.found.has(run))) draw();  // at once, as paper wants it
  else Promise.all(others.map(({ run }) => report.unpacked(run))).then(draw);
});
