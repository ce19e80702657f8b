// The maps of several runs side by side, of the numbers that the page has of each.
"use strict";
report.mark("networks", async (body, { runs }) => {
  const found = await Promise.all(runs.map(async ({ run, label }) => ({ label, section: (await report.unpacked(run)).network })));
  report.drawNetworks(body, found.filter(({ section }) => section).map(({ label, section }) => ({ label, data: section.panels[0].data })));
});
