// Map, collaboration graph and heat map of its weights, or the maps of several runs, all at the moment of one slider.
"use strict";
(() => {
  const { element, number, css, isDark, page, colour } = report;
  const MOST_LINES = 3000;

  report.mark("network", (body, data) => draw(body, [{ data }]));
  report.drawNetworks = draw;

  function draw(body, shown) {
    const several = shown.length > 1;
    const clock = shown.map(({ data }) => data.moments_s).reduce((a, b) => (b[b.length - 1] > a[a.length - 1] ? b : a));
    const last = clock.length - 1;
    page.clock_s = clock;

    // The bar: play, slider, what maps count.
    const slider = element("input", { type: "range", min: 0, max: last, step: 1, value: last, id: "moment-slider", "aria-label": "Virtual time" });
    const told = element("output", { for: "moment-slider" });
    const play = element("button", { type: "button", "aria-pressed": "false", id: "play" }, "Play");
    const bar = element("div", { class: "bar moment" }, play, slider, told);
    body.append(bar);
    let timer = null;
    function stop() {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
      play.setAttribute("aria-pressed", "false");
    }
    play.addEventListener("click", () => {
      if (timer) return stop();
      if (page.moment >= last) report.setMoment(0);
      play.textContent = "Pause";
      play.setAttribute("aria-pressed", "true");
      timer = setInterval(() => (page.moment >= last ? stop() : report.setMoment(page.moment + 1)), 250);
      return undefined;
    });
    page.cleanups.push(stop);
    slider.addEventListener("input", () => report.setMoment(Number(slider.value)));

    const views = [];
    const busiest = [];  // of each map, the most messages of a link
    let soFar = true;
    let hovered = null;
    if (shown.some(({ data }) => data.links)) bar.append(charts.choice("messages", [["all", "so far"], ["now", "of this stretch"]], (value) => { soFar = value === "all"; redraw(); }));
    const scaleOfAll = several ? element("div") : null;
    const grid = element("div", { class: "two" });
    body.append(...(several ? [scaleOfAll] : []), grid);

    shown.forEach(({ label, data }, at) => {
      const n = data.nodes;
      const ends = data.moments_s;
      // The moment of this run: that of the slider, of whatever run that has most of them.
      const moment = () => {
        if (ends === clock) return page.moment;
        const k = ends.findIndex((end) => end >= clock[page.moment]);
        return k < 0 ? ends.length - 1 : k;
      };
      function place(node) {
        const [x, y] = data.moves ? [data.x[moment()], data.y[moment()]] : [data.x, data.y];
        return [x[node], y[node]];
      }
      const extent = (rows) => {
        let [low, high] = [Infinity, -Infinity];
        for (const value of rows.flat()) { if (value < low) low = value; if (value > high) high = value; }
        return [low, Math.max(high, low + 1e-9)];
      };
      const [left, right] = extent(data.x);
      const [bottom, top] = extent(data.y);

      function view(title, note, ratio, draw, pickable) {
        const canvas = element("canvas", { tabindex: 0, role: "img", "aria-label": label ? `${title}, ${label}` : title });
        const readout = element("div", { class: "readout", "aria-live": "polite" });
        const keys = scaleOfAll || element("div");
        const figure = element("figure", null, element("h3", null, label || title), several ? null : keys, canvas, readout, note ? element("figcaption", null, note) : null);
        grid.append(figure);
        const made = { canvas, readout, keys, spot: () => null };
        made.draw = () => {
          const width = canvas.clientWidth || 480;
          const height = Math.round(width * ratio);
          draw(made, charts.penOf(canvas, width, height), width, height);
          canvas.dataset.moment = moment();
        };
        if (pickable) {
          let focused = -1;
          canvas.addEventListener("mousemove", (event) => {
            const found = made.spot(event.offsetX, event.offsetY);
            if (found !== hovered) { hovered = found; made.says(found); redraw(); }
          });
          canvas.addEventListener("mouseleave", () => { hovered = null; redraw(); });
          canvas.addEventListener("click", (event) => { const found = made.spot(event.offsetX, event.offsetY); if (found !== null) report.toggle(found); });
          canvas.addEventListener("keydown", (event) => {
            const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
            if (event.key in steps) focused = (focused + steps[event.key] + n) % n;
            else if ((event.key === "Enter" || event.key === " ") && focused >= 0) report.toggle(focused);
            else return;
            event.preventDefault();
            hovered = focused;
            made.says(focused);
            redraw();
          });
        }
        const watcher = new ResizeObserver(() => { if (Math.abs(canvas.clientWidth - (made.width || 0)) > 1) { made.width = canvas.clientWidth; made.draw(); } });
        watcher.observe(canvas);
        page.cleanups.push(() => watcher.disconnect());
        views.push(made);
        return made;
      }

      // Places on a canvas: the same scale both ways where they are metres.
      function placing(width, height) {
        const edge = 22;
        let across = (width - 2 * edge) / (right - left);
        let up = (height - 2 * edge) / (top - bottom);
        if (data.has_places) across = up = Math.min(across, up);
        const x0 = (width - across * (right - left)) / 2;
        const y0 = (height - up * (top - bottom)) / 2;
        return { at: (node) => { const [x, y] = place(node); return [x0 + (x - left) * across, height - y0 - (y - bottom) * up]; }, across };
      }
      function nearest(placed) {
        return (x, y) => {
          let [found, best] = [null, 15 * 15];
          placed.forEach(([px, py], node) => { const far = (px - x) ** 2 + (py - y) ** 2; if (far < best) [found, best] = [node, far]; });
          return found;
        };
      }
      // The number of a node beside its dot, where no other number is; none where all places are taken.
      function name(pen, node, [x, y], r, width, named) {
        pen.font = "11px system-ui";
        const wide = pen.measureText(node).width;
        const places = [[r + 3, 1 - r], [-r - 3 - wide, 1 - r], [r + 3, r + 8], [-r - 3 - wide, r + 8]];
        const spot = places.map(([dx, dy]) => [x + dx, y + dy]).find(([tx, ty]) => tx >= 0 && tx + wide <= width
          && named.every(([ox, oy, other]) => tx > ox + other || tx + wide < ox || Math.abs(ty - oy) > 10));
        if (!spot) return;
        named.push([...spot, wide]);
        pen.lineWidth = 3;
        pen.strokeStyle = css("card");
        pen.strokeText(node, ...spot);
        pen.fillStyle = css("text");
        pen.fillText(node, ...spot);
        pen.lineWidth = 1.2;
      }
      function drawNodes(pen, placed, width) {
        const size = Math.max(1, Math.min(n > 100 ? 3.2 : 5, (0.15 * width) / Math.sqrt(n)));  // dots stay apart
        const off = new Set(data.off ? data.off[moment()] : []);
        const named = [];
        pen.lineWidth = 1.2;
        placed.forEach(([x, y], node) => {
          const picked = page.picked.indexOf(node);
          const isServer = data.roles && data.roles[node] !== data.roles[0] && data.roles.filter((r) => r === data.roles[node]).length * 2 < n;
          const r = picked >= 0 || node === hovered ? size + 2.5 : size;
          pen.beginPath();
          if (isServer) pen.rect(x - r, y - r, 2 * r, 2 * r);
          else pen.arc(x, y, r, 0, 2 * Math.PI);
          pen.strokeStyle = css("node");
          pen.fillStyle = off.has(node) ? css("card") : picked >= 0 ? colour(picked) : css("node");
          pen.fill();
          if (r > 2 || off.has(node)) pen.stroke();
        });
        const chosen = [...(hovered === null ? [] : [hovered]), ...page.picked];
        const others = n <= 60 ? placed.keys() : [];
        for (const node of new Set([...chosen, ...others])) name(pen, node, placed[node], chosen.includes(node) ? size + 2.5 : size, width, named);
      }
      function scaleBar(pen, across, height) {
        const rough = 80 / across;
        const power = 10 ** Math.floor(Math.log10(rough));
        const metres = [5, 2, 1].map((k) => k * power).find((one) => one <= rough) || power;
        pen.strokeStyle = pen.fillStyle = css("text");
        pen.lineWidth = 1.5;
        pen.beginPath();
        pen.moveTo(10, height - 14); pen.lineTo(10, height - 8); pen.lineTo(10 + metres * across, height - 8); pen.lineTo(10 + metres * across, height - 14);
        pen.stroke();
        pen.font = "11px system-ui";
        pen.fillText(metres >= 1000 ? `${number(metres / 1000)} km` : `${number(metres)} m`, 16 + metres * across, height - 6);
      }

      const SHARES = { light: [[213, 94, 0], [168, 168, 168], [0, 114, 178]], dark: [[242, 142, 75], [125, 125, 125], [86, 180, 233]] };
      const WEIGHTS = { light: [[255, 255, 255], [158, 202, 225], [33, 113, 181], [8, 29, 88]], dark: [[29, 33, 38], [42, 78, 120], [86, 160, 220], [235, 245, 255]] };
      const stops = (set) => set[isDark() ? "dark" : "light"];
      const rgb = (parts, alpha) => `rgba(${parts.join(",")},${alpha === undefined ? 1 : alpha})`;
      function scale(keys, set, low, high, words) {
        const swatch = element("span", { class: "swatch" });
        swatch.style.background = `linear-gradient(90deg, ${stops(set).map((part) => rgb(part)).join(", ")})`;
        keys.replaceChildren(element("div", { class: "muted" }, `${words} ${low}`, swatch, high));
      }

      // Messages by link up to the moment, or of the stretch that ends at it.
      let counted = {};
      function linkCounts() {
        const { links } = data;
        const now = Math.floor(moment() / links.moments_each);
        if (counted.now === now && counted.soFar === soFar) return counted;
        const sent = new Float64Array(links.a.length);
        const delivered = new Float64Array(links.a.length);
        for (let k = 0; k < links.moment.length; k++) {
          if (links.moment[k] > now) break;
          if (!soFar && links.moment[k] < now) continue;
          sent[links.link[k]] += links.sent[k];
          delivered[links.link[k]] += links.delivered[k];
        }
        counted = { now, soFar, sent, delivered };
        return counted;
      }
      if (data.links || data.has_places) {
        const common = [
          data.has_places ? (data.moves ? "Where nodes are at the moment." : data.may_move ? "Where nodes were at the start: how they moved could not be worked out." : "Where nodes are.") : "Nodes have no places: linked ones are drawn near each other.",
          data.links ? "A line is a pair of nodes with messages, wider for more of them, both ways together." : "",
        ];
        const own = [
          data.off ? "Hollow: switched off." : "",
          data.links && data.links.left_out ? `${number(data.links.left_out)} pairs with fewer messages are left out.` : "",
        ];
        const words = (several ? own : [...common, ...own]).filter(Boolean).join(" ");
        if (several && at === 0) grid.before(element("p", { class: "muted" }, common.filter(Boolean).join(" ")));
        if (data.links) busiest.push(() => Math.max(...linkCounts().sent));
        const map = view("Map: links by the share of messages that was delivered", words, 0.78, (made, pen, width, height) => {
          const { at, across } = placing(width, height);
          const placed = Array.from({ length: n }, (_, node) => at(node));
          made.spot = nearest(placed);
          if (data.links) {
            const { a, b } = data.links;
            const { sent, delivered } = linkCounts();
            const most = Math.max(1, ...busiest.map((of) => of()));
            const few = a.length > 1500;
            for (let k = 0; k < a.length; k++) {
              if (!sent[k]) continue;
              const near = page.picked.includes(a[k]) || page.picked.includes(b[k]);
              pen.strokeStyle = rgb(charts.blend(stops(SHARES), delivered[k] / sent[k]), page.picked.length && !near ? 0.12 : few ? 0.6 : 0.9);
              pen.lineWidth = (few ? 0.5 : 0.8) + 2.2 * (sent[k] / most);
              pen.beginPath();
              pen.moveTo(...placed[a[k]]);
              pen.lineTo(...placed[b[k]]);
              pen.stroke();
            }
            scale(made.keys, SHARES, "0 %", "100\u00a0%", "delivered");
          }
          drawNodes(pen, placed, width);
          if (data.has_places) scaleBar(pen, across, height);
        }, true);
        map.canvas.id = several ? `map-${at}` : "map";
        map.says = (node) => {
          if (node === null) { map.readout.textContent = ""; return; }
          const [x, y] = place(node);
          const parts = [`node ${node}`];
          if (data.has_places) parts.push(`x ${number(x)} m, y ${number(y)} m`);
          if (data.links) {
            const { sent, delivered } = linkCounts();
            let [all, arrived] = [0, 0];
            data.links.a.forEach((a, k) => { if (a === node || data.links.b[k] === node) { all += sent[k]; arrived += delivered[k]; } });
            parts.push(`${number(arrived)} of ${number(all)} messages of its links delivered`);
          }
          map.readout.textContent = parts.join(" · ");
        };
      }

      if (data.weights && !several) {
        const { weights } = data;
        const matrix = new Float32Array(n * n);
        let applied = 0;
        let upTo = -1;
        const current = () => {
          const now = Math.floor(moment() / weights.moments_each);
          if (now < upTo) { matrix.fill(0); applied = 0; }
          while (applied < weights.moment.length && weights.moment[applied] <= now) {
            matrix[weights.node[applied] * n + weights.peer[applied]] = weights.weight[applied];
            applied++;
          }
          upTo = now;
          return matrix;
        };
        // The scale ends at what one weight in a hundred exceeds, if that is far below the greatest.
        const others = weights.weight.filter((weight, k) => weights.node[k] !== weights.peer[k] && weight > 0).sort((a, b) => a - b);
        const greatest = others.length ? others[others.length - 1] : 1;
        const high = others.length ? others[Math.floor(others.length * 0.99)] : 1;
        const most = high < greatest / 2 ? high : greatest;
        const tone = (weight) => (weight > 0 ? Math.min(1, 0.15 + (0.85 * weight) / most) : 0);
        const end = `${most < greatest ? "≥ " : ""}${number(most, 3)}`;
        const lost = weights.left_out ? ` ${number(weights.left_out)} small weights are left out.` : "";

        const graph = view("Collaboration graph: who weighs whom", `A line from a node to a peer it weighs, stronger in colour for more weight; its own weight is not drawn. At most ${number(MOST_LINES)} lines: the strongest, and of equal ones the shortest.${lost}`, 0.78, (made, pen, width, height) => {
          const { at } = placing(width, height);
          const placed = Array.from({ length: n }, (_, node) => at(node));
          made.spot = nearest(placed);
          const now = current();
          let lines = [];
          for (let i = 0; i < n; i++) {
            if (page.picked.length && !page.picked.includes(i)) continue;
            for (let j = 0; j < n; j++) if (i !== j && now[i * n + j] > most * 0.02) lines.push([now[i * n + j], i, j]);
          }
          const far = (i, j) => (placed[i][0] - placed[j][0]) ** 2 + (placed[i][1] - placed[j][1]) ** 2;
          const there = lines.length;
          lines.sort((a, b) => b[0] - a[0]);
          if (there > MOST_LINES) {
            const least = lines[MOST_LINES - 1][0];
            const equal = lines.filter(([weight]) => weight === least).map((line) => [far(line[1], line[2]), line]).sort((a, b) => a[0] - b[0]);
            lines = [...lines.filter(([weight]) => weight > least), ...equal.map(([, line]) => line)].slice(0, MOST_LINES);
          }
          lines.reverse();
          made.left = there - lines.length;
          // Together the lines cover about as much of the map, however many and long they are.
          const ink = lines.reduce((sum, [, i, j]) => sum + Math.sqrt(far(i, j)), 0);
          const fade = Math.min(0.9, Math.max(0.08, (1.5 * width * height) / Math.max(1, 3 * ink)));
          const thin = lines.length > 1000 ? 0.5 : 1;
          for (const [weight, i, j] of lines) {
            const share = Math.min(1, weight / most);
            const picked = page.picked.indexOf(i);
            pen.strokeStyle = picked >= 0 ? colour(picked) : rgb(charts.blend(stops(WEIGHTS), 0.35 + 0.65 * share), fade);
            pen.lineWidth = thin * (0.6 + 2.4 * share);
            const [[x1, y1], [x2, y2]] = [placed[i], placed[j]];
            pen.beginPath();  // bent, so that both ways of a pair are seen
            pen.moveTo(x1, y1);
            pen.quadraticCurveTo((x1 + x2) / 2 + (y2 - y1) * 0.1, (y1 + y2) / 2 - (x2 - x1) * 0.1, x2, y2);
            pen.stroke();
          }
          drawNodes(pen, placed, width);
          scale(made.keys, WEIGHTS, "0", end, "weight");
          if (made.left) made.keys.firstChild.append(` · ${number(made.left)} more lines are not drawn`);
        }, true);
        graph.canvas.id = "graph";
        graph.says = (node) => {
          if (node === null) { graph.readout.textContent = ""; return; }
          const now = current();
          const peers = Array.from({ length: n }, (_, j) => [now[node * n + j], j]).filter(([w, j]) => w > 0 && j !== node).sort((a, b) => b[0] - a[0]);
          graph.readout.textContent = `node ${node} · own weight ${number(now[node * n + node], 3)} · ${peers.length} peers`
            + (peers.length ? `, most: ${peers.slice(0, 3).map(([w, j]) => `${j} (${number(w, 3)})`).join(", ")}` : "");
        };

        const heat = view(`${weights.what === "learned" ? "Learned" : "Applied"} weights: a row a node, a column a peer`, "Own weights lie on the diagonal and may be off the scale.", 0.86, (made, pen, width, height) => {
          const now = current();
          const edge = 46;
          const side = Math.min(width - edge - 8, height - edge - 4);
          const cells = Math.min(n, Math.floor(side / 1.5));  // of more nodes a cell shows the greatest of several
          const table = Array.from({ length: 256 }, (_, k) => charts.blend(stops(WEIGHTS), k / 255));
          const tones = new Uint8Array(cells * cells);
          for (let i = 0; i < n; i++) {
            const row = Math.floor((i * cells) / n) * cells;
            for (let j = 0; j < n; j++) {
              const weight = now[i * n + j];
              if (weight <= 0) continue;
              const cell = row + Math.floor((j * cells) / n);
              tones[cell] = Math.max(tones[cell], Math.round(255 * tone(weight)));
            }
          }
          made.cell = charts.heatMap(pen, {
            edge, wide: side, tall: side, rows: cells, columns: cells, ids: [n, n], labels: ["node", "peer"],
            paint: (k) => table[tones[k]], tick: (_, k) => k,
          });
          page.picked.forEach((node, k) => {
            pen.strokeStyle = colour(k);
            pen.lineWidth = 2;
            pen.strokeRect(edge, 4 + (node / n) * side, side, Math.max(2, side / n));
          });
          scale(made.keys, WEIGHTS, "0", end, "weight");
        }, false);
        heat.canvas.id = "heat";
        const say = (i, j) => { heat.readout.textContent = i >= 0 && j >= 0 && i < n && j < n ? `node ${i} gives ${j === i ? "itself" : `peer ${j}`} ${number(current()[i * n + j], 3)}` : ""; };
        charts.readCells(heat.canvas, [n, n], (x, y) => heat.cell(x, y), say);
      }

    });

    let due = false;
    function redraw() {
      if (due) return;
      due = true;
      requestAnimationFrame(() => { due = false; views.forEach((one) => one.draw()); });
    }
    function moved() {
      slider.value = page.moment;
      told.textContent = `${number(clock[page.moment], 4)} s of ${number(clock[last], 4)} s`;
      slider.setAttribute("aria-valuetext", told.textContent);
      redraw();
    }
    report.listen("moment", moved);
    report.listen("picked", redraw);
    report.listen("theme", redraw);
    report.listen("print", () => views.forEach((one) => one.draw()));  // at once: no frame comes before paper
    report.setMoment(last);
  }
})();
