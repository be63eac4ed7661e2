(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const color = (j) => data.colors[j % data.colors.length];
  const percent = (v) => (v > 0 && v < 0.005 ? "under 1%" : v >= 0.995 && v < 1 ? "over 99%" : Math.round(100 * v) + "%");
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
  function ramp() { // 256 colors from the page's own
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
  const sure = all.confidence ? words(all.confidence) : null; // shares are 16-bit numbers
  const ties = all.ties ? all.ties.map(words) : null; // to the own cluster; two choices; ties to these
  const share = (v) => v / 65535;
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

  // The words of what is pointed at, beside the pointer.
  const tip = byId("tip");
  function point(event, text) {
    tip.hidden = !text || event.pointerType === "touch";
    if (tip.hidden) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(innerWidth - box.width - 4, event.clientX + 14)) + "px";
    tip.style.top = (event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18) + "px";
  }
  const leave = () => { tip.hidden = true; };
  addEventListener("scroll", leave, { passive: true });

  // Annotations: a color for each kind, or a shade for each number.
  const strips = data.strips || [];
  const kinds = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#e0884a", "#44aa99", "#9970ab", "#888888"];
  const noted = (strip, code, shades) => (code < 0 ? "#9aa2ab" : strip.numeric ? "rgb(" + shades[Math.round(30 + (code * 225) / 255)].join(",") + ")" : kinds[code]);
  function legends() {
    const box = byId("strip-legend");
    if (!box) return;
    const shades = ramp();
    box.replaceChildren(...strips.map((strip) => {
      const row = element("div", {}, strip.name + ":");
      strip.legend.forEach(([code, name], i) => {
        const swatch = element("span", { className: "swatch" });
        swatch.style.setProperty("--c", noted(strip, code, shades));
        row.append(swatch, name + (strip.numeric && i === 0 ? " to" : ""));
      });
      return row;
    }));
  }

  // A table of shades ----------------------------------------------------------------------------------------
  // rows, columns: numbers of cells; values: bytes, 255 for none; rowCluster, columnCluster: cluster of each, where there are any;
  // bands: strips above; tell(i, j), tellBand(s, j): words.
  function shaded(id, map) {
    const canvas = byId(id), out = byId(id + "-out");
    if (!canvas) return;
    const { rows, columns, values } = map, bands = map.bands || [], BAND = 26, above = bands.length * BAND + (bands.length ? 6 : 0);
    let at = null, wide = 1, high = 1, width = 0, height = 0;
    const changes = (cluster) => (cluster ? cluster.map((c, i) => (i && c !== cluster[i - 1] ? i : -1)).filter((i) => i > 0) : []);
    const down = changes(map.rowCluster), across = changes(map.columnCluster);
    function draw() {
      const [pen, w] = fit(canvas, (room) => {
        const side = Math.min(room, map.most || 620);
        return { width: side, height: above + (map.height ? map.height : side) };
      });
      width = w;
      height = map.height || w;
      wide = width / columns;
      high = height / rows;
      const shades = ramp(), none = rgb(css("--none")), image = new ImageData(columns, rows);
      const fades = picked !== null && map.columnCluster, pixels = image.data;
      for (let i = 0, at = 0; i < rows; i++) {
        for (let j = 0; j < columns; j++, at++) {
          const shade = values[at] === 255 ? none : shades[Math.round((values[at] / 254) * 255)];
          pixels[4 * at] = shade[0];
          pixels[4 * at + 1] = shade[1];
          pixels[4 * at + 2] = shade[2];
          pixels[4 * at + 3] = fades && map.rowCluster[i] !== picked && map.columnCluster[j] !== picked ? 70 : 255;
        }
      }
      const small = element("canvas", { width: columns, height: rows });
      small.getContext("2d").putImageData(image, 0, 0);
      pen.imageSmoothingEnabled = false;
      pen.clearRect(0, 0, width, above + height);
      bands.forEach((strip, s) => {
        pen.font = "11px system-ui, sans-serif";
        pen.fillStyle = css("--soft");
        pen.fillText(strip.name.length > 40 ? strip.name.slice(0, 39) + "…" : strip.name, 0, s * BAND + 10);
        strip.cells.forEach((code, j) => {
          pen.fillStyle = noted(strip, code, shades);
          pen.fillRect(j * wide, s * BAND + 13, wide + 0.5, 11);
        });
      });
      pen.save();
      pen.translate(0, above);
      pen.drawImage(small, 0, 0, width, height);
      pen.strokeStyle = css("--soft");
      pen.globalAlpha = 0.55;
      pen.lineWidth = 0.75;
      pen.beginPath();
      for (const e of across) { pen.moveTo(e * wide, 0); pen.lineTo(e * wide, height); }
      for (const e of down) { pen.moveTo(0, e * high); pen.lineTo(width, e * high); }
      pen.stroke();
      pen.globalAlpha = 1;
      const name = (text, x, y) => {
        pen.font = "600 11px system-ui, sans-serif";
        pen.fillStyle = css("--bg");
        pen.fillRect(x, y, pen.measureText(text).width + 5, 14);
        pen.fillStyle = css("--ink");
        pen.fillText(text, x + 2, y + 11);
      };
      if (map.columnCluster) { // colors of the clusters along the edges
        const ends = [0, ...across, columns];
        for (let s = 0; s + 1 < ends.length; s++) {
          const j = map.columnCluster[ends[s]], from = ends[s] * wide, to = ends[s + 1] * wide;
          pen.fillStyle = color(j);
          pen.fillRect(from, 0, to - from, 4);
          if (map.rowCluster === map.columnCluster) {
            pen.fillRect(0, ends[s] * high, 4, (ends[s + 1] - ends[s]) * high);
            if (to - from > 15) name(String(j), from + 4, ends[s] * high + 4);
          }
        }
      }
      if (map.rowCluster && map.rowCluster !== map.columnCluster) {
        map.rowCluster.forEach((j, i) => {
          pen.fillStyle = color(j);
          pen.fillRect(0, i * high, 4, high);
          if (high > 12) name(String(j), 6, i * high + high / 2 - 7);
        });
      }
      if (at) {
        pen.strokeStyle = "#d55e00";
        pen.lineWidth = 2;
        pen.strokeRect(at[1] * wide - 1, at[0] * high - 1, wide + 2, high + 2);
      }
      pen.restore();
    }
    function tell() {
      out.textContent = map.tell(at[0], at[1]);
      draw();
    }
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect(), y = event.clientY - box.top - (above * box.height) / (above + height);
      const i = Math.floor((y / (box.height - (above * box.height) / (above + height))) * rows), j = Math.floor(((event.clientX - box.left) / box.width) * columns);
      if (j < 0 || j >= columns || i >= rows) return;
      if (y < 0) {
        const s = Math.floor((event.clientY - box.top) / BAND);
        const text = bands[s] ? bands[s].name + ": " + map.block(j) + ", " + bands[s].text[j] + "." : "";
        if (text) out.textContent = text;
        point(event, text);
        return;
      }
      if (!at || at[0] !== i || at[1] !== j) { at = [i, j]; tell(); }
      point(event, out.textContent);
    });
    canvas.addEventListener("pointerleave", leave);
    canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      if (!at) at = [0, 0];
      else at = at.map((v, axis) => {
        if (!step[axis]) return v;
        const last = (axis ? columns : rows) - 1;
        if (!event.shiftKey) return Math.min(last, Math.max(0, v + step[axis]));
        const stops = [0, ...(axis ? across : down)]; // with Shift, from cluster to cluster
        const here = stops.filter((s) => s <= v).length - 1;
        return stops[Math.min(stops.length - 1, Math.max(0, here + step[axis]))];
      });
      tell();
    });
    redraws.push(draw);
  }
  function tables() {
    const map = data.heat, b = map.cluster.length, values = bytes(map.values);
    const order = map.order ? words(map.order) : null, starts = [0];
    for (const size of map.size) starts.push(starts[starts.length - 1] + size);
    const called = (place) => { const name = nameOf(order[place]); return "“" + (name.length > 40 ? name.slice(0, 39) + "…" : name) + "”"; };
    const block = (i) => {
      const n = map.size[i];
      if (n === 1 && order) return "object " + called(starts[i]) + " (cluster " + map.cluster[i] + ")";
      return objects(n) + " of cluster " + map.cluster[i];
    };
    const some = (i) => { // the first names of a cell
      const n = map.size[i];
      if (n === 1 || !order || !all.names) return "";
      const shown = Math.min(n, 3), list = Array.from({ length: shown }, (_, p) => called(starts[i] + p));
      return " (" + list.join(", ") + (n > shown ? " and " + (n - shown) + " more" : "") + ")";
    };
    const how = (value, rest) => (value === 255 ? "no clustering saw such a pair" : "together in " + percent(value / 254) + " of the clusterings") + rest;
    shaded("heat", {
      rows: b, columns: b, values, rowCluster: map.cluster, columnCluster: map.cluster, bands: strips, block: (j) => block(j) + some(j),
      tell: (i, j) => (i === j
        ? block(i) + (map.size[i] === 1 ? "." : ": with each other " + how(values[i * b + i], "") + some(i) + ".")
        : block(i) + " and " + block(j) + ": " + how(values[i * b + j], "") + "."),
    });
    if (data.items) {
      const shares = bytes(data.items.values), c = shares.length / b, numbers = Array.from({ length: c }, (_, j) => j);
      shaded("items", {
        rows: c, columns: b, values: shares, rowCluster: numbers, columnCluster: map.cluster, height: Math.max(110, Math.min(420, 30 * c)),
        tell: (i, j) => block(j) + some(j) + " with the objects of cluster " + i + ": " + how(shares[i * b + j], "") + ".",
      });
    }
    if (data.similarity) {
      const { names } = data.similarity, alike = bytes(data.similarity.values), m = names.length;
      shaded("similarity", {
        rows: m, columns: m, values: alike, most: 460,
        tell: (i, j) => (i === j ? names[i] + "." : names[i] + " and " + names[j] + ": " + (alike[i * m + j] === 255 ? "no object was seen by both." : "NMI " + (alike[i * m + j] / 254).toFixed(2) + ".")),
      });
    }
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
        drawing("text", { x: left, y: 14, "text-anchor": "end", class: "soft" }, width < 500 ? "base" : "base clusters"),
        drawing("text", { x: width - 2, y: 14, "text-anchor": "end", class: "soft" }, "consensus"),
      );
      const bands = [];
      for (const [a, b, weight] of flow.flows) {
        const h = weight * scale, y0 = start[a], y1 = end[b];
        start[a] += h; end[b] += h;
        const shape = "M" + left + "," + y0 + "C" + middle + "," + y0 + " " + middle + "," + y1 + " " + right + "," + y1 +
          "v" + h + "C" + middle + "," + (y1 + h) + " " + middle + "," + (y0 + h) + " " + left + "," + (y0 + h) + "z";
        const cluster = consensus[b].cluster;
        const off = picked !== null && cluster !== picked;
        const path = drawing("path", { d: shape, class: off ? "band off" : "band", fill: cluster === null ? css("--soft") : color(cluster) });
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
        svg.append(drawing("rect", { x: right, y: to[b], width: 8, height: Math.max(1, node.size * scale), fill: node.cluster === null ? css("--soft") : color(node.cluster) }));
        if (node.size * scale > 9) svg.append(drawing("text", { x: right + 13, y: to[b] + (node.size * scale) / 2 + 4 }, width < 500 ? node.name.replace("cluster ", "") : node.name));
      });
      byId("alluvial-note").textContent = "NMI with the consensus " + flow.nmi.toFixed(2) +
        (unseen > 0.5 ? "; it did not see " + objects(Math.round(unseen)) + "." : ".");
    }
    if (select) select.addEventListener("change", () => { out.textContent = ""; draw(); });
    redraws.push(draw);
  }

  // Scatter --------------------------------------------------------------------------------------------------
  let mode = "cluster"; // of the points, in both pictures
  const isDark = () => rgb(css("--bg"))[0] < 100;
  function scatter(id, map) {
    const canvas = byId(id), out = byId(id + "-out"), points = data.points;
    if (!canvas || !map) return;
    const xs = words(map.x), ys = words(map.y), own = points.labels, p = own.length;
    const order = Array.from({ length: p }, (_, i) => i).sort((a, b) => points.confidence[a] - points.confidence[b]);
    let at = null, width = 0, height = 0;
    const X = (i) => 16 + (xs[i] / 65535) * (width - 32), Y = (i) => 16 + (1 - ys[i] / 65535) * (height - 32);
    const bright = (hex) => { // colors made for white, on a dark ground
      const mixed = rgb(hex).map((v) => Math.round(v + (255 - v) * 0.3));
      return "rgb(" + mixed.join(",") + ")";
    };
    function draw() {
      let pen;
      [pen, width, height] = fit(canvas, (w) => ({ width: Math.min(w, 760), height: Math.round(Math.min(w, 760) * 0.8) }));
      pen.clearRect(0, 0, width, height);
      const r = p > 3000 ? 1.9 : p > 800 ? 2.5 : 3.6, shades = ramp(), dark = isDark();
      const fills = data.colors.map((each) => (dark ? bright(each) : each));
      const strip = strips[mode];
      const sequence = order.slice().reverse(); // doubtful objects on top
      for (const i of sequence) {
        const off = picked !== null && own[i] !== picked;
        // What the evidence ties less is fainter, never invisible.
        pen.globalAlpha = off ? 0.1 : mode === "cluster" ? (dark ? 0.8 : 0.6) + (dark ? 0.2 : 0.4) * share(points.ties[i]) : 0.95;
        pen.fillStyle = mode === "cluster" ? fills[own[i] % fills.length]
          : mode === "confidence" ? "rgb(" + shades[Math.round(55 + 200 * share(points.confidence[i]))].join(",") + ")"
          : noted(strip, strip.points[i], shades);
        pen.beginPath();
        pen.arc(X(i), Y(i), r, 0, 2 * Math.PI);
        pen.fill();
      }
      pen.globalAlpha = 1;
      if (mode === "cluster" && map.centers.length <= 60) {
        pen.font = "700 12px system-ui, sans-serif";
        pen.textAlign = "center";
        pen.textBaseline = "middle";
        for (const [j, x, y] of map.centers) {
          if (picked !== null && j !== picked) continue;
          const aside = p < 200 ? 14 : 0; // few points are not to be covered
          const cx = Math.min(width - 14, 16 + (x / 65535) * (width - 32) + aside), cy = Math.max(14, 16 + (1 - y / 65535) * (height - 32) - aside);
          pen.beginPath();
          pen.arc(cx, cy, 11, 0, 2 * Math.PI);
          pen.fillStyle = css("--bg");
          pen.fill();
          pen.lineWidth = 2.5;
          pen.strokeStyle = color(j);
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
      const second = points.second ? points.second[at] : -1, strip = strips[mode];
      out.textContent = "Object “" + (points.names ? points.names[at] : points.index[at]) + "”: cluster " + own[at] + ", confidence " +
        share(points.confidence[at]).toFixed(2) + ", " + percent(share(points.ties[at])) + " of its ties" + (second >= 0 ? "; next most ties to cluster " + second + "." : ".") +
        (strip && !strip.numeric && strip.points[at] >= 0 ? " " + strip.name + ": " + (strip.legend.find((l) => l[0] === strip.points[at]) || [0, ""])[1] + "." : "");
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
        point(event, i === null ? "" : out.textContent);
      });
    });
    canvas.addEventListener("pointerleave", leave);
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
    redraws.push(draw);
  }
  for (const button of document.querySelectorAll("[data-mode]")) {
    button.addEventListener("click", () => {
      mode = button.dataset.mode;
      for (const other of document.querySelectorAll("[data-mode]")) other.setAttribute("aria-pressed", String(other === button));
      byId("scatter-legend").hidden = mode !== "confidence";
      redraws.forEach((draw) => draw());
    });
  }

  // Doubtful objects -----------------------------------------------------------------------------------------
  function doubtful() {
    const table = byId("doubtful"), box = byId("find"), out = byId("find-out");
    if (!table) return;
    const body = table.tBodies[0];
    // [object, cluster, own ties, in words, first choice or -1, its ties in words, second, its ties, confidence, in words, name]
    const listed = data.doubtful;
    const rank = new Map(listed.map((row) => [row[0], row]));
    let rows = listed.slice(), key = 8, sign = 1;
    const few = innerWidth < 640 ? 10 : 25;
    let limit = few;
    const more = byId("more");
    const called = (row) => (row[10] === undefined ? nameOf(row[0]) : row[10]);
    function beyond(i) { // a row of an object that is not listed
      const own = ties ? share(ties[0][i]) : -1, sure_ = share(sure[i]);
      const choice = (k) => { const j = ties ? ties[1][2 * i + k] : 65535; return j === 65535 ? [-1, null] : [j, percent(share(ties[2][2 * i + k]))]; };
      return [i, labels[i], own, own < 0 ? "–" : percent(own), ...choice(0), ...choice(1), sure_, sure_.toFixed(2)];
    }
    function cells(row) {
      const tr = element("tr"), [, cluster, , own, first, firstTies, second, secondTies, , confidence] = row;
      const swatch = (j) => { const s = element("span", { className: "swatch" }); s.style.setProperty("--c", color(j)); return s; };
      const td = (label, ...inside) => { const node = element("td", {}, ...inside); node.dataset.label = label; return node; };
      const choice = (label, j, text) => (j >= 0 ? td(label, swatch(j), j + " (" + text + ")") : td(label, "–"));
      tr.append(element("th", { scope: "row", className: "text", textContent: called(row) }));
      tr.append(td("Cluster", swatch(cluster), String(cluster)), td("Ties to it", own));
      tr.append(choice("1st choice", first, firstTies), choice("2nd choice", second, secondTies), td("Confidence", confidence));
      tr.cells[2].className = tr.cells[5].className = "num";
      return tr;
    }
    function show() {
      const compare = (a, b) => {
        const x = key === 10 ? called(a) : a[key], y = key === 10 ? called(b) : b[key];
        return sign * (typeof x === "string" ? x.localeCompare(y, undefined, { numeric: true }) : x - y) || a[0] - b[0];
      };
      const seeking = Boolean(box && box.value.trim());
      const nobody = element("tr", {}, element("td", { colSpan: 6, className: "soft", textContent: "No hit: no object has “" + (box ? box.value.trim() : "") + "” in its name." }));
      body.replaceChildren(...(rows.length ? rows.slice().sort(compare).slice(0, seeking ? 200 : limit).map(cells) : [nobody]));
      if (more) more.hidden = limit > few || seeking;
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
            if (++found <= 2000) rows.push(rank.get(i) || beyond(i));
          }
          out.textContent = found === 0 ? "No hit." : objects(found) + " found" + (found > 200 ? ", 200 shown." : ".");
        } else {
          rows = listed.filter((row) => called(row).toLowerCase().includes(wanted));
          out.textContent = rows.length ? rows.length + " of the listed objects found." : "No hit among the listed objects.";
        }
        if (!wanted) out.textContent = "";
        show();
      }, 120);
    });
  }

  // Files and the clipboard ------------------------------------------------------------------------------------
  const formula = (text) => /^[=+\-@\t\r]/.test(text) && (text.trim() === "" || Number.isNaN(Number(text)));
  let masked = 0; // names that a spreadsheet would take for a formula: an apostrophe makes them text
  function quote(text) {
    if (formula(text)) { masked += 1; text = "'" + text; }
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  }
  function save(name, lines, out) {
    const address = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv;charset=utf-8" }));
    const link = element("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
    out.textContent = name + ": " + objects(lines.length - 1) + "." +
      (masked ? " " + count(masked) + (masked === 1 ? " name begins" : " names begin") + " with an apostrophe, so that no spreadsheet takes them for formulas." : "");
  }
  const download = byId("download");
  if (download && labels) download.addEventListener("click", () => {
    masked = 0;
    const lines = ["name,label" + (sure ? ",confidence" : "")];
    for (let i = 0; i < labels.length; i++) lines.push(quote(nameOf(i)) + "," + labels[i] + (sure ? "," + share(sure[i]).toFixed(4) : ""));
    save("labels.csv", lines, byId("download-out"));
  });
  const members = byId("members");
  if (members) members.addEventListener("click", () => {
    masked = 0;
    const m = data.clusterings.length, narrow = bytes(data.members), wide = narrow.length > m * data.n;
    const codes = wide ? words(data.members) : narrow, none = wide ? 65535 : 255;
    const lines = [(all.names ? "name," : "") + data.clusterings.map(quote).join(",")];
    for (let i = 0; i < data.n; i++) {
      const row = Array.from({ length: m }, (_, j) => (codes[i * m + j] === none ? "" : codes[i * m + j]));
      lines.push((all.names ? quote(nameOf(i)) + "," : "") + row.join(","));
    }
    save("base_clusterings.csv", lines, byId("members-out"));
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

  redraws.push(legends);
  tables();
  alluvial();
  scatter("scatter", data.scatter);
  scatter("around", data.around);
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
