(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const colour = (j) => data.colours[j % data.colours.length];
  const percent = (v) => (v > 0 && v < 0.005 ? "under 1%" : Math.round(100 * v) + "%");
  const count = (v) => v.toLocaleString("en-US", { maximumFractionDigits: 1 });
  const objects = (v) => count(v) + (v === 1 ? " object" : " objects");
  const redraws = [];
  let picked = null; // the cluster that is highlighted, in every figure

  function element(tag, properties, ...children) {
    const node = document.createElement(tag);
    Object.assign(node, properties || {});
    node.append(...children);
    return node;
  }
  function drawing(tag, attributes, text) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  }
  function bytes(text) {
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  }
  function words(text) { // little-endian 16-bit numbers
    const raw = bytes(text), out = new Uint16Array(raw.length / 2);
    for (let i = 0; i < out.length; i++) out[i] = raw[2 * i] | (raw[2 * i + 1] << 8);
    return out;
  }
  function rgb(hex) {
    return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  }
  function ramp() { // 256 colours from the page's own
    const stops = ["--heat-0", "--heat-1", "--heat-2"].map((name) => rgb(css(name)));
    return Array.from({ length: 256 }, (_, i) => {
      const t = i / 127.5, a = stops[t < 1 ? 0 : 1], b = stops[t < 1 ? 1 : 2], s = t < 1 ? t : t - 1;
      return a.map((v, k) => Math.round(v + (b[k] - v) * s));
    });
  }
  function fit(canvas, height) { // sharp on every screen
    const width = Math.max(200, Math.floor(canvas.parentElement.clientWidth));
    const high = height(width), scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(Math.min(width, high.width || width) * scale);
    canvas.height = Math.round(high.height * scale);
    canvas.style.width = Math.min(width, high.width || width) + "px";
    canvas.style.height = high.height + "px";
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    return [pen, Math.min(width, high.width || width), high.height];
  }

  // Objects: names, labels and confidence of all of them, where the page carries them.
  const all = data.objects || {};
  const labels = all.labels ? (all.wide ? words(all.labels) : bytes(all.labels)) : null;
  const sure = all.confidence ? words(all.confidence) : null;
  const nameOf = (i) => (all.names ? all.names[i] : String(i));

  // Highlighting one cluster everywhere.
  function pick(cluster) {
    picked = picked === cluster ? null : cluster;
    for (const button of document.querySelectorAll("[data-pick]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.pick) === picked));
    }
    redraws.forEach((draw) => draw());
  }
  for (const button of document.querySelectorAll("[data-pick]")) {
    button.addEventListener("click", () => pick(Number(button.dataset.pick)));
  }

  // Heat map -------------------------------------------------------------------------------------------------
  function heatMap() {
    const canvas = byId("heat"), out = byId("heat-out"), map = data.heat;
    if (!canvas || !map) return;
    const b = map.cluster.length, values = bytes(map.values);
    let at = null, cell = 1, size = 0;
    const edges = [];
    for (let i = 1; i < b; i++) if (map.cluster[i] !== map.cluster[i - 1]) edges.push(i);
    function draw() {
      const [pen, width] = fit(canvas, (w) => ({ width: Math.min(w, 620), height: Math.min(w, 620) }));
      size = width;
      cell = size / b;
      const shades = ramp(), none = rgb(css("--none"));
      const image = new ImageData(b, b);
      for (let i = 0; i < b * b; i++) {
        const shade = values[i] === 255 ? none : shades[Math.round((values[i] / 254) * 255)];
        const faded = picked !== null && map.cluster[Math.floor(i / b)] !== picked && map.cluster[i % b] !== picked;
        image.data.set([...shade, faded ? 70 : 255], 4 * i);
      }
      const small = element("canvas", { width: b, height: b });
      small.getContext("2d").putImageData(image, 0, 0);
      pen.imageSmoothingEnabled = false;
      pen.clearRect(0, 0, size, size);
      pen.drawImage(small, 0, 0, size, size);
      pen.strokeStyle = css("--soft");
      pen.globalAlpha = 0.55;
      pen.lineWidth = 0.75;
      pen.beginPath();
      for (const e of edges) {
        pen.moveTo(e * cell, 0); pen.lineTo(e * cell, size);
        pen.moveTo(0, e * cell); pen.lineTo(size, e * cell);
      }
      pen.stroke();
      pen.globalAlpha = 1;
      const marks = [0, ...edges, b]; // colours of the clusters along the diagonal's edge
      for (let s = 0; s + 1 < marks.length; s++) {
        const j = map.cluster[marks[s]], from = marks[s] * cell, to = marks[s + 1] * cell;
        pen.fillStyle = colour(j);
        pen.fillRect(from, 0, to - from, 4);
        pen.fillRect(0, from, 4, to - from);
        if (to - from > 15) {
          pen.font = "600 11px system-ui, sans-serif";
          pen.fillStyle = css("--bg");
          pen.fillRect(from + 4, from + 4, pen.measureText(String(j)).width + 5, 14);
          pen.fillStyle = css("--ink");
          pen.fillText(String(j), from + 6, from + 15);
        }
      }
      if (at) {
        pen.strokeStyle = "#d55e00";
        pen.lineWidth = 2;
        pen.strokeRect(at[1] * cell - 1, at[0] * cell - 1, cell + 2, cell + 2);
      }
    }
    function block(i) {
      const n = map.size[i];
      if (n === 1 && map.first) return "object “" + nameOf(map.first[i]) + "” (cluster " + map.cluster[i] + ")";
      return objects(n) + " of cluster " + map.cluster[i];
    }
    function tell() {
      const value = values[at[0] * b + at[1]];
      const how = value === 255 ? "no clustering saw such a pair" : "together in " + percent(value / 254) + " of the clusterings";
      out.textContent = at[0] === at[1]
        ? block(at[0]) + (map.size[at[0]] === 1 ? "." : ": with each other " + how + ".")
        : block(at[0]) + " and " + block(at[1]) + ": " + how + ".";
      draw();
    }
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const i = Math.floor(((event.clientY - box.top) / box.height) * b), j = Math.floor(((event.clientX - box.left) / box.width) * b);
      if (i < 0 || j < 0 || i >= b || j >= b || (at && at[0] === i && at[1] === j)) return;
      at = [i, j];
      tell();
    });
    canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      if (!at) at = [0, 0];
      else at = at.map((v, axis) => {
        if (!step[axis]) return v;
        if (!event.shiftKey) return Math.min(b - 1, Math.max(0, v + step[axis]));
        const stops = [0, ...edges]; // with Shift, from cluster to cluster
        const here = stops.filter((s) => s <= v).length - 1;
        return stops[Math.min(stops.length - 1, Math.max(0, here + step[axis]))];
      });
      tell();
    });
    redraws.push(draw);
  }

  // Alluvial -------------------------------------------------------------------------------------------------
  function alluvial() {
    const svg = byId("alluvial"), out = byId("alluvial-out"), select = byId("alluvial-choice");
    if (!svg || !data.alluvial) return;
    const consensus = data.alluvial.consensus;
    function draw() {
      const flow = data.alluvial.clusterings[select ? select.value : 0];
      const width = Math.max(300, Math.min(760, svg.parentElement.clientWidth)), left = width < 500 ? 84 : 150, right = width - (width < 500 ? 64 : 110);
      const rows = Math.max(flow.nodes.length, consensus.length);
      const height = Math.max(300, Math.min(900, 24 * rows)), gap = Math.min(8, 60 / rows);
      svg.setAttribute("viewBox", "0 0 " + width + " " + (height + 24));
      svg.setAttribute("width", width);
      svg.replaceChildren(drawing("title", {}, "Clusters of " + flow.name + " and where their objects are in the consensus"));
      const total = consensus.reduce((sum, node) => sum + node.size, 0);
      const unseen = total - flow.nodes.reduce((sum, node) => sum + node.size, 0);
      const scale = (height - gap * (rows - 1)) / total;
      const place = (sizes) => {
        const used = sizes.reduce((a, v) => a + v * scale, 0) + gap * (sizes.length - 1);
        let y = 24 + (height - used) / 2;
        return sizes.map((v) => { const top = y; y += v * scale + gap; return top; });
      };
      const from = place(flow.nodes.map((n) => n.size)), to = place(consensus.map((n) => n.size));
      const start = from.slice(), end = to.slice(), middle = (left + right) / 2;
      svg.append(
        drawing("text", { x: left, y: 12, "text-anchor": "end", class: "soft" }, width < 500 ? "base" : "base clusters"),
        drawing("text", { x: width - 2, y: 12, "text-anchor": "end", class: "soft" }, "consensus"),
      );
      const bands = [];
      for (const [a, b, weight] of flow.flows) {
        const h = weight * scale, y0 = start[a], y1 = end[b];
        start[a] += h; end[b] += h;
        const shape = "M" + left + "," + y0 + "C" + middle + "," + y0 + " " + middle + "," + y1 + " " + right + "," + y1 +
          "v" + h + "C" + middle + "," + (y1 + h) + " " + middle + "," + (y0 + h) + " " + left + "," + (y0 + h) + "z";
        const cluster = consensus[b].cluster;
        const off = picked !== null && cluster !== picked;
        const path = drawing("path", { d: shape, class: off ? "band off" : "band", fill: cluster === null ? css("--soft") : colour(cluster) });
        const text = objects(weight) + " of cluster “" + flow.nodes[a].name + "” are in consensus " + consensus[b].name + ".";
        path.addEventListener("pointerenter", () => { path.style.fillOpacity = 0.85; out.textContent = text; });
        path.addEventListener("pointerleave", () => { path.style.fillOpacity = ""; });
        bands.push(path);
      }
      svg.append(...bands);
      flow.nodes.forEach((node, a) => {
        const parts = flow.flows.filter((f) => f[0] === a).sort((f, g) => g[2] - f[2]).slice(0, 3)
          .map((f) => percent(f[2] / node.size) + " in consensus " + consensus[f[1]].name);
        const text = "Cluster “" + node.name + "” of " + flow.name + ", " + objects(node.size) + ": " + parts.join(", ") + ".";
        const group = drawing("g", { tabindex: 0, role: "img", "aria-label": text });
        group.append(drawing("rect", { x: left - 8, y: from[a], width: 8, height: Math.max(1, node.size * scale), class: "node" }));
        if (node.size * scale > 9) {
          const most = width < 500 ? 9 : 18, name = node.name.length > most ? node.name.slice(0, most - 1) + "…" : node.name;
          group.append(drawing("text", { x: left - 13, y: from[a] + (node.size * scale) / 2 + 4, "text-anchor": "end" }, name));
        }
        const show = () => { out.textContent = text; };
        group.addEventListener("focus", show);
        group.addEventListener("pointerenter", show);
        svg.append(group);
      });
      consensus.forEach((node, b) => {
        svg.append(drawing("rect", { x: right, y: to[b], width: 8, height: Math.max(1, node.size * scale), fill: node.cluster === null ? css("--soft") : colour(node.cluster) }));
        if (node.size * scale > 9) svg.append(drawing("text", { x: right + 13, y: to[b] + (node.size * scale) / 2 + 4 }, width < 500 ? node.name.replace("cluster ", "") : node.name));
      });
      byId("alluvial-note").textContent = "NMI with the consensus " + flow.nmi.toFixed(2) +
        (unseen > 0.5 ? "; it did not see " + objects(Math.round(unseen)) + "." : ".");
    }
    if (select) select.addEventListener("change", () => { out.textContent = ""; draw(); });
    redraws.push(draw);
  }

  // Scatter --------------------------------------------------------------------------------------------------
  function scatter() {
    const canvas = byId("scatter"), out = byId("scatter-out"), map = data.scatter;
    if (!canvas || !map) return;
    const xs = words(map.x), ys = words(map.y), own = map.labels, p = own.length;
    const order = Array.from({ length: p }, (_, i) => i).sort((a, b) => map.confidence[a] - map.confidence[b]);
    let at = null, mode = "cluster", width = 0, height = 0;
    const X = (i) => 16 + (xs[i] / 65535) * (width - 32), Y = (i) => 16 + (1 - ys[i] / 65535) * (height - 32);
    function draw() {
      let pen;
      [pen, width, height] = fit(canvas, (w) => ({ width: Math.min(w, 760), height: Math.round(Math.min(w, 760) * 0.72) }));
      pen.clearRect(0, 0, width, height);
      const r = p > 3000 ? 1.9 : p > 800 ? 2.5 : 3.6, shades = ramp();
      const sequence = order.slice().reverse(); // doubtful objects on top
      for (const i of sequence) {
        const off = picked !== null && own[i] !== picked;
        pen.globalAlpha = off ? 0.08 : mode === "cluster" ? 0.35 + 0.6 * (map.confidence[i] / 1000) : 0.95;
        pen.fillStyle = mode === "cluster" ? colour(own[i]) : "rgb(" + shades[Math.round(55 + 0.2 * map.confidence[i])].join(",") + ")";
        pen.beginPath();
        pen.arc(X(i), Y(i), r, 0, 2 * Math.PI);
        pen.fill();
      }
      pen.globalAlpha = 1;
      if (mode === "cluster" && map.centres.length <= 60) {
        pen.font = "700 12px system-ui, sans-serif";
        pen.textAlign = "center";
        pen.textBaseline = "middle";
        for (const [j, x, y] of map.centres) {
          if (picked !== null && j !== picked) continue;
          const aside = p < 200 ? 14 : 0; // few points are not to be covered
          const cx = Math.min(width - 14, 16 + (x / 65535) * (width - 32) + aside), cy = Math.max(14, 16 + (1 - y / 65535) * (height - 32) - aside);
          pen.beginPath();
          pen.arc(cx, cy, 11, 0, 2 * Math.PI);
          pen.fillStyle = css("--bg");
          pen.fill();
          pen.lineWidth = 2.5;
          pen.strokeStyle = colour(j);
          pen.stroke();
          pen.fillStyle = css("--ink");
          pen.fillText(String(j), cx, cy + 1);
        }
      }
      if (at !== null) {
        pen.strokeStyle = css("--ink");
        pen.lineWidth = 2;
        pen.beginPath();
        pen.arc(X(at), Y(at), 7, 0, 2 * Math.PI);
        pen.stroke();
      }
    }
    function tell() {
      const second = map.second ? map.second[at] : -1;
      out.textContent = "Object “" + (map.names ? map.names[at] : map.index[at]) + "”: cluster " + own[at] + ", confidence " +
        (map.confidence[at] / 1000).toFixed(2) + (second >= 0 ? ", second choice cluster " + second + "." : ".");
      draw();
    }
    function nearest(event) {
      const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
      let best = null, distance = 15 * 15;
      for (let i = 0; i < p; i++) {
        if (picked !== null && own[i] !== picked) continue;
        const d = (X(i) - x) ** 2 + (Y(i) - y) ** 2;
        if (d < distance) { distance = d; best = i; }
      }
      return best;
    }
    let waiting = false;
    canvas.addEventListener("pointermove", (event) => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        const i = nearest(event);
        if (i !== null && i !== at) { at = i; tell(); }
      });
    });
    canvas.addEventListener("click", (event) => {
      const i = nearest(event);
      if (i !== null) { at = i; tell(); }
    });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const here = at === null ? (step > 0 ? -1 : 0) : order.indexOf(at);
      const path = picked === null ? order : order.filter((i) => own[i] === picked);
      const from = picked === null ? here : path.indexOf(at);
      at = path[(from + step + path.length) % path.length];
      tell();
    });
    for (const button of document.querySelectorAll("[data-mode]")) {
      button.addEventListener("click", () => {
        mode = button.dataset.mode;
        for (const other of document.querySelectorAll("[data-mode]")) other.setAttribute("aria-pressed", String(other === button));
        byId("scatter-legend").hidden = mode !== "confidence";
        draw();
      });
    }
    redraws.push(draw);
  }

  // Doubtful objects -----------------------------------------------------------------------------------------
  function doubtful() {
    const table = byId("doubtful"), box = byId("find"), out = byId("find-out");
    if (!table) return;
    const body = table.tBodies[0];
    const listed = data.doubtful; // [object, cluster, own ties, second cluster or -1, its ties, confidence, name]; shares in thousandths
    const rank = new Map(listed.map((row) => [row[0], row]));
    let rows = listed.slice(), key = 2, sign = 1, limit = 25;
    const more = byId("more");
    const called = (row) => (row[6] === undefined ? nameOf(row[0]) : row[6]);
    function cells(row) {
      const [i, cluster, own, second, tie, confidence] = row, tr = element("tr");
      const swatch = (j) => { const s = element("span", { className: "swatch" }); s.style.setProperty("--c", colour(j)); return s; };
      tr.append(element("th", { scope: "row", className: "text", textContent: called(row) }));
      tr.append(element("td", {}, swatch(cluster), String(cluster)));
      tr.append(element("td", { className: "num", textContent: own < 0 ? "–" : percent(own / 1000) }));
      tr.append(second >= 0 ? element("td", {}, swatch(second), String(second) + " (" + percent(tie / 1000) + ")") : element("td", { textContent: "–" }));
      tr.append(element("td", { className: "num", textContent: (confidence / 1000).toFixed(2) }));
      return tr;
    }
    function show() {
      const compare = (a, b) => {
        const x = key === 0 ? called(a) : a[key], y = key === 0 ? called(b) : b[key];
        return sign * (typeof x === "string" ? x.localeCompare(y, undefined, { numeric: true }) : x - y) || a[0] - b[0];
      };
      body.replaceChildren(...rows.slice().sort(compare).slice(0, box && box.value.trim() ? 200 : limit).map(cells));
      if (more) more.hidden = limit > 25 || Boolean(box && box.value.trim());
    }
    table.querySelectorAll("th[data-key]").forEach((th) => {
      th.querySelector("button").addEventListener("click", () => {
        const next = Number(th.dataset.key);
        sign = next === key ? -sign : 1;
        key = next;
        table.querySelectorAll("th[data-key]").forEach((other) => other.removeAttribute("aria-sort"));
        th.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        show();
      });
    });
    if (more) more.addEventListener("click", () => { limit = 200; more.setAttribute("aria-expanded", "true"); show(); });
    addEventListener("beforeprint", () => { body.replaceChildren(...rows.slice(0, 20).map(cells)); });
    addEventListener("afterprint", show);
    show();
    let timer = 0;
    if (box) box.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const wanted = box.value.trim().toLowerCase();
        if (!wanted) rows = listed.slice();
        else if (labels && sure) {
          rows = [];
          let found = 0;
          for (let i = 0; i < labels.length; i++) {
            if (!nameOf(i).toLowerCase().includes(wanted)) continue;
            if (++found <= 2000) rows.push(rank.get(i) || [i, labels[i], -1, -1, 0, sure[i]]);
          }
          out.textContent = found === 0 ? "No object has such a name." : objects(found) + " found" + (found > 200 ? ", 200 shown." : ".");
        } else {
          rows = listed.filter((row) => called(row).toLowerCase().includes(wanted));
          out.textContent = rows.length + " of the listed objects found.";
        }
        if (!wanted) out.textContent = "";
        show();
      }, 120);
    });
  }

  // Files and the clipboard ------------------------------------------------------------------------------------
  function quote(text) {
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  }
  function csv() {
    const lines = ["name,label" + (sure ? ",confidence" : "")];
    for (let i = 0; i < labels.length; i++) lines.push(quote(nameOf(i)) + "," + labels[i] + (sure ? "," + (sure[i] / 1000).toFixed(3) : ""));
    return lines.join("\n") + "\n";
  }
  const download = byId("download");
  if (download && labels) download.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([csv()], { type: "text/csv;charset=utf-8" }));
    const link = element("a", { href: address, download: "labels.csv" });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
    byId("download-out").textContent = "labels.csv: " + objects(labels.length) + ".";
  });
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => {
      const source = byId(button.dataset.copy), range = document.createRange(), selection = getSelection();
      range.selectNodeContents(source);
      selection.removeAllRanges();
      selection.addRange(range);
      let done = false;
      try { done = document.execCommand("copy"); } catch { done = false; } // works for files, where navigator.clipboard may not
      button.textContent = done ? "Copied" : "Selected: press Ctrl+C";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  heatMap();
  alluvial();
  scatter();
  doubtful();
  const redraw = () => redraws.forEach((draw) => draw());
  redraw();
  let pending = 0;
  addEventListener("resize", () => { clearTimeout(pending); pending = setTimeout(redraw, 120); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => { root.classList.add("light"); redraw(); });
  addEventListener("afterprint", () => { root.classList.remove("light"); redraw(); });
  root.dataset.ready = "true";
})();
