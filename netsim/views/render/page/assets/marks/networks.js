// The maps of several runs side by side, of the numbers that the page has of each.
"use strict";
report.mark("networks", (body, { others }) => {
  const draw = () => report.drawNetworks(body, others.map(({ run, label }) => ({ label, section: report.found.get(run).network }))
    .filter(({ section }) => section).map(({ label, section }) => ({ label, data: section.panels[0].data })));
  if (others.every(({ run }) => report.found.has(run))) draw();  // at once, as paper wants it
  else Promise.all(others.map(({ run }) => report.unpacked(run))).then(draw);
});
