// Draws the page. One that is live loads itself again, and shows what its reader has set as before.
"use strict";
(() => {
  const { element, page } = report;
  const live = JSON.parse(document.getElementById("outline").textContent).live;
  const all = (root, selector) => [...root.querySelectorAll(selector)];
  const sections = () => all(document, "main section");
  const moments = () => page.clock_s;
  const was = history.state;
  let held = false;

  // What a reader has set, from one loading of the page to the next.
  const radioName = (one) => `${one.closest("fieldset")?.querySelector("legend")?.textContent}/${one.parentElement.textContent.trim()}`;
  const optionOf = (select) => select.selectedOptions[0]?.textContent;
  function settings(section) {
    const sorted = section.querySelector("th[aria-sort]");
    const slider = section.querySelector("input[type=range]");
    return {
      height: section.offsetHeight,
      radios: all(section, "input[type=radio]:checked").map(radioName),
      boxes: all(section, "input[type=checkbox]").map((one) => one.checked),
      selects: all(section, "select").map(optionOf),
      sort: sorted ? [sorted.cellIndex, sorted.getAttribute("aria-sort")] : null,
      scroll: all(section, ".scroll").map((one) => [one.scrollTop, one.scrollLeft]),
      moment: slider && Number(slider.value) < Number(slider.max) ? moments()?.[page.moment] : null,
    };
  }
  function set(section, was) {
    all(section, "select").forEach((select, k) => {
      const option = [...select.options].find((one) => one.textContent === was.selects[k]);
      if (!option || option.selected) return;
      select.value = option.value;
      select.dispatchEvent(new Event("change"));
    });
    for (const name of was.radios) {
      const radio = all(section, "input[type=radio]").find((one) => radioName(one) === name);
      if (radio && !radio.checked) radio.click();
    }
    all(section, "input[type=checkbox]").forEach((box, k) => { if (k in was.boxes && box.checked !== was.boxes[k]) box.click(); });
    if (was.sort) {
      const head = all(section, "th")[was.sort[0]];
      for (let k = 0; k < 2 && head && head.getAttribute("aria-sort") !== was.sort[1]; k++) head.firstChild.click();
    }
    if (was.moment !== null && moments()) {
      const k = moments().findIndex((end) => end >= was.moment);
      if (k >= 0) report.setMoment(k);
    }
    all(section, ".scroll").forEach((one, k) => { if (was.scroll[k]) [one.scrollTop, one.scrollLeft] = was.scroll[k]; });
  }
  function keep() {
    const choice = document.getElementById("run");
    const drawn = sections().filter((one) => "drawn" in one.dataset);  // those far below are as they were
    history.replaceState({
      theme: document.getElementById("theme").value, held,
      run: choice.selectedOptions[0]?.textContent, picked: page.picked, y: scrollY,
      sections: { ...was?.sections, ...Object.fromEntries(drawn.map((one) => [one.id, settings(one)])) },
    }, "");
  }
  async function begin() {
    const theme = document.getElementById("theme");
    report.prepare();
    if (was) {
      theme.value = was.theme;
      theme.dispatchEvent(new Event("change"));
      history.scrollRestoration = "manual";
    }
    const runs = JSON.parse(document.getElementById("outline").textContent).runs;
    if (!runs.length) return;
    report.drawn = (section) => {
      const mine = was?.sections[section.id];
      if (mine) set(section, mine);
    };
    await report.show(Math.max(0, runs.findIndex((run) => run.label === was?.run)));
    report.offer();
    if (!was) return;
    for (const section of sections()) if (was.sections[section.id]) section.style.minHeight = `${was.sections[section.id].height}px`;
    scrollTo({ top: was.y, behavior: "instant" });
    for (const section of sections()) {
      const { top, bottom } = section.getBoundingClientRect();
      if (was.sections[section.id] && bottom > 0 && top < innerHeight) report.draw(section);
    }
    if (was.picked.length) report.pick(was.picked);
    scrollTo({ top: was.y, behavior: "instant" });
  }

  // How far the run is, how old that is, and the next loading of the page.
  function spell(seconds) {
    return seconds < 120 ? `${seconds.toFixed(0)} s` : `${Math.floor(seconds / 60)} min`;
  }
  function follow() {
    const loaded = Date.now();
    const words = element("span", { class: "live-words" }, live.ended || live.words || "");
    const far = element("progress", { max: 1, value: live.share || 0, "aria-label": "Share that is played" });
    const state = element("strong", { role: "status" }, live.ended ? "Ended" : "Live");
    const cost = element("p", { class: "muted live-cost" });
    held = Boolean(was?.held);
    const hold = element("button", { type: "button", "aria-pressed": String(held), onclick: () => {
      held = !held;
      hold.setAttribute("aria-pressed", String(held));
    } }, "Hold still");
    const bar = element("div", { class: "live", role: "region", "aria-label": "How the run is" },
      element("div", { class: "bar" }, state, live.ended ? null : far, words, live.ended ? null : hold), cost);
    document.querySelector("header").after(bar);
    if (live.ended) return bar.classList.add("over");
    const busy = () => held || document.hidden
      || document.getElementById("play")?.getAttribute("aria-pressed") === "true"
      || document.activeElement?.matches("input[type=text], select");
    setInterval(() => {
      const age = Math.max(0, (Date.now() - live.written_ms) / 1000);
      const late = age > 12 * live.every_s && !held;
      bar.classList.toggle("bad", late);
      state.textContent = late ? "No longer written" : "Live";
      cost.textContent = late
        ? `Last written ${spell(age)} ago: the run was killed, or its machine has stopped. netsim resume goes on with it.`
        : `Written ${spell(age)} ago; it is written anew every ${report.number(live.every_s, 2)} s.`;
      if (Date.now() - loaded < 1000 * (late ? 6 : 1) * live.every_s || busy()) return;
      keep();
      location.reload();
    }, 1000);
  }

  if (live) follow();
  begin().then(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))).then(() => {
    performance.mark("drawn");  // what is in view is drawn by then
    document.documentElement.dataset.ready = "";
  });
})();
