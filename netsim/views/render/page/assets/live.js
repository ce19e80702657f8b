// A page of a run that goes on: asks its server how far it is, and draws again what is new.
"use strict";
(() => {
  const { element, number, page } = report;
  const EVERY_MS = 2000;
  const MOST_FAILURES = 3;
  const bar = element("div", { class: "live", role: "region", "aria-label": "How the run is" });
  const far = element("progress", { max: 1, value: 0, "aria-label": "Virtual time played" });
  const words = element("span", { class: "live-words" }, "Waiting for the run to begin …");
  const hold = element("button", { type: "button", "aria-pressed": "false", onclick: () => {
    held = !held;
    hold.setAttribute("aria-pressed", String(held));
  } }, "Hold still");
  const state = element("strong", { role: "status" }, "Live");
  const cost = element("p", { class: "muted live-cost" });
  let held = false;
  let tag = "";
  let shownAt = null;
  let failures = 0;
  let shown = false;

  function spell(seconds) {
    if (seconds < 60) return `${seconds.toFixed(0)} s`;
    const minutes = Math.floor(seconds / 60);
    return minutes < 60 ? `${minutes} min ${(seconds % 60).toFixed(0).padStart(2, "0")} s`
      : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
  }

  // What its user has set in a section, to be set again once it is drawn anew.
  const all = (root, selector) => [...root.querySelectorAll(selector)];
  const optionOf = (select) => select.selectedOptions[0]?.textContent;
  function remembered(section) {
    const sorted = section.querySelector("th[aria-sort]");
    const active = section.contains(document.activeElement) ? document.activeElement : null;
    const slider = section.querySelector("input[type=range]");
    return {
      height: section.offsetHeight,
      radios: all(section, "input[type=radio]:checked").map((one) => `${one.closest("fieldset")?.querySelector("legend")?.textContent}/${one.parentElement.textContent.trim()}`),
      boxes: all(section, "input[type=checkbox]").map((one) => one.checked),
      selects: all(section, "select").map(optionOf),
      sort: sorted ? [sorted.cellIndex, sorted.getAttribute("aria-sort")] : null,
      focus: active ? all(section, "button, select, input, [tabindex]").indexOf(active) : -1,
      scroll: all(section, ".scroll").map((one) => [one.scrollTop, one.scrollLeft]),
      moment: slider && Number(slider.value) < Number(slider.max) ? page.panels.network?.panels[0].data.moments_s[page.moment] : null,
    };
  }
  function restore(section, was) {
    all(section, "select").forEach((select, k) => {
      const option = [...select.options].find((one) => one.textContent === was.selects[k]);
      if (!option || option.selected) return;
      select.value = option.value;
      select.dispatchEvent(new Event("change"));
    });
    for (const name of was.radios) {
      const radio = all(section, "input[type=radio]").find((one) => `${one.closest("fieldset")?.querySelector("legend")?.textContent}/${one.parentElement.textContent.trim()}` === name);
      if (radio && !radio.checked) radio.click();
    }
    all(section, "input[type=checkbox]").forEach((box, k) => { if (k in was.boxes && box.checked !== was.boxes[k]) box.click(); });
    if (was.sort) {
      const head = all(section, "th")[was.sort[0]];
      for (let k = 0; k < 2 && head && head.getAttribute("aria-sort") !== was.sort[1]; k++) head.firstChild.click();
    }
    if (was.moment !== null && page.panels.network) {
      const ends = page.panels.network.panels[0].data.moments_s;
      const k = ends.findIndex((end) => end >= was.moment);
      if (k >= 0) report.setMoment(k);
    }
    all(section, ".scroll").forEach((one, k) => { if (was.scroll[k]) [one.scrollTop, one.scrollLeft] = was.scroll[k]; });
    if (was.focus >= 0) all(section, "button, select, input, [tabindex]")[was.focus]?.focus({ preventScroll: true });
  }

  // Put other numbers into the page, and draw it again as its user has set it.
  async function replace(found) {
    const before = shown ? JSON.parse(document.getElementById("outline").textContent).runs[page.run]?.label : null;
    document.title = document.querySelector("h1").textContent = found.title;
    document.getElementById("outline").textContent = JSON.stringify(found.outline);
    all(document, "script[id^=run-]").forEach((one) => one.remove());
    found.data.forEach((packed, k) => document.body.append(element("script", { type: "text/plain", id: `run-${k}` }, packed)));
    const k = Math.max(0, found.outline.runs.findIndex((run) => run.label === before));
    const picked = page.picked;
    const was = new Map(all(document, "main section[data-drawn]").map((section) => [section.id, remembered(section)]));
    const seen = all(document, "main section").find((section) => section.getBoundingClientRect().bottom > 0);
    const anchor = scrollY > 0 && seen ? { id: seen.id, top: seen.getBoundingClientRect().top } : null;
    const settle = () => {  // what is looked at stays where it is
      const there = anchor && document.getElementById(anchor.id);
      if (there) scrollBy({ top: there.getBoundingClientRect().top - anchor.top, behavior: "instant" });
    };
    const main = document.getElementById("panels");
    main.style.minHeight = `${main.offsetHeight}px`;  // so that the window does not jump
    report.drawn = (section) => {
      const set = was.get(section.id);
      was.delete(section.id);
      if (set) restore(section, set);
    };
    await report.show(k);
    report.offer();
    for (const section of all(document, "main section")) {
      const set = was.get(section.id);
      if (set) section.style.minHeight = `${set.height}px`;
    }
    settle();
    for (const section of all(document, "main section")) {
      const { top: above, bottom } = section.getBoundingClientRect();
      if (was.has(section.id) && bottom > 0 && above < innerHeight) report.draw(section);
    }
    if (picked.length && before !== null) report.pick(picked);
    await new Promise((done) => setTimeout(done));  // charts take their height a little later
    main.style.minHeight = "";
    settle();
    shown = true;
    shownAt = Date.now();
    document.documentElement.dataset.ready = "";
  }

  function busy() {
    return held || document.getElementById("play")?.getAttribute("aria-pressed") === "true"
      || all(document, "input[type=text]").includes(document.activeElement);
  }
  async function ask(what, headers) {
    const answer = await fetch(what, { headers, cache: "no-store", signal: AbortSignal.timeout(60000) });
    if (answer.status !== 304 && !answer.ok) throw new Error(String(answer.status));
    return answer;
  }
  function tell(now) {
    const share = now.horizon_s > 0 ? now.virtual_s / now.horizon_s : 0;
    far.value = share;
    const parts = [];
    if (now.doing) parts.push(now.doing);
    if (now.algorithm) parts.push(`${now.algorithm} at ${number(now.virtual_s, 4)} of ${number(now.horizon_s, 6)} s of virtual time (${(100 * share).toFixed(0)} %)`);
    if (now.algorithms > 1 && now.algorithm) parts.push(`algorithm ${now.place} of ${now.algorithms}`);
    if (now.wall_s > 0) parts.push(`${spell(now.wall_s)} so far`);
    if (share > 0 && share < 1 && now.wall_s > 0) parts.push(`${spell(now.wall_s * (1 / share - 1))} left`);
    words.textContent = parts.join(" · ") || "Waiting for the run to begin …";
    const age = shownAt === null ? "" : `What follows is what had been written ${spell((Date.now() - shownAt) / 1000)} ago. `;
    const making = now.made_cpu_s ? `Making it took ${number(now.made_cpu_s, 2)} s of another core, at low priority, at most every ${number(now.every_s, 2)} s while somebody looks.` : "";
    cost.textContent = now.problem || age + making;
  }
  function end(text, bad) {
    state.textContent = text;
    bar.classList.add("over");
    bar.classList.toggle("bad", Boolean(bad));
    hold.hidden = true;
    document.documentElement.dataset.over = "";
  }
  async function poll() {
    try {
      const now = await (await ask("state")).json();
      failures = 0;
      tell(now);
      if ((now.new || (now.tag && now.tag !== tag)) && (!busy() || now.over)) {
        const answer = await ask("content", tag ? { "If-None-Match": `"${tag}"` } : {});
        if (answer.status === 200) {
          const fresh = (answer.headers.get("ETag") || "").replaceAll('"', "");
          const text = await answer.text();
          if (text) {
            tag = fresh;
            await replace(JSON.parse(text));
          }
        }
      }
      if (now.over) {
        far.value = 1;
        far.hidden = true;
        cost.textContent = "This page stays as it is, without the run's process; netsim report writes it to a file.";
        return end(now.ended, now.failed);
      }
    } catch (problem) {
      failures += 1;
      if (failures >= MOST_FAILURES) {
        cost.textContent = "What follows had been written by then; netsim report writes the page of all there is.";
        return end("The run's process no longer answers: it has ended or was stopped.", true);
      }
    }
    setTimeout(poll, EVERY_MS);
  }

  report.prepare();
  bar.append(element("div", { class: "bar" }, state, far, words, hold), cost);
  document.querySelector("header").after(bar);
  poll();
})();
