// Pictures of grids: cells in colours, of which one can be pointed at or walked to with the arrow keys.
{
  const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // A colour for one of `count` things, and of `level` (0 to 1) for its lightness.
  page.hue = (index, count, level = 0.5) => {
    const lightness = dark() ? 24 + 40 * level : 60 + 30 * level;
    return `hsl(${Math.round(360 * index / Math.max(count, 1) + 210) % 360} ${dark() ? 45 : 60}% ${lightness}%)`;
  };

  // A colour for a share from 0 to 1 of one scale: from the pane's colour to a strong blue.
  page.shade = (share) => {
    const light = dark() ? 18 + 50 * share : 96 - 56 * share;
    return `hsl(212 ${40 + 40 * share}% ${light}%)`;
  };

  const TOP = 17;
  const WIDEST = 1100;
  const TALLEST = 560;

  // A colour for what is well, and for what is not.
  page.verdict = (well) => (dark() ? (well ? "hsl(150 40% 28%)" : "hsl(8 60% 36%)") : well ? "hsl(150 45% 78%)" : "hsl(8 85% 74%)");

  // `rows`, `columns`: cells; `colour(r, c)`; `describe(r, c)` in words; `marked(r, c, at)`: whether a cell stands out
  // while the cursor is at `at`, [r, c]: it is outlined, or with `dims` the others are dimmed. `rowLabel`,
  // `columnLabel`: of a cell number. `text(r, c)`: in large cells.
  page.picture = (options) => {
    const { rows, columns, label } = options;
    const rowLabel = options.rowLabel || String;
    const columnLabel = options.columnLabel || String;
    const left = Math.max(34, 10 + 6.5 * rowLabel(rows - 1).length);
    let size = 0, width = 0, height = 0;
    const fit = (room) => {
      const wanted = Math.min((Math.min(room, WIDEST) - left - 2) / columns, options.cell || Math.min(28, TALLEST / rows));
      size = Math.max(options.least || 2, Math.floor(wanted));
      width = left + columns * size + 2;
      height = TOP + rows * size + 2;
    };
    fit(page.room());
    const canvas = page.element("canvas", { tabIndex: 0, role: "application", "aria-roledescription": "picture",
      "aria-label": `${label}. Use the arrow keys to move from cell to cell; the same as a table follows.` });
    const said = page.element("p", { className: "said", role: "status", "aria-live": "polite", textContent: " " });
    let at = null;
    let kept = [0, 0];
    const context = canvas.getContext("2d");
    const place = (r, c) => [left + c * size, TOP + r * size];
    const labels = (count, room, write) => {
      const step = [1, 2, 4, 8, 16, 32, 64, 128, 256].find((s) => s * size >= room) || 512;
      for (let i = 0; i < count; i += step) write(i);
    };
    const cells = document.createElement("canvas");

    const paintCells = () => {
      const ratio = devicePixelRatio || 1;
      for (const one of [canvas, cells]) [one.width, one.height] = [width * ratio, height * ratio];
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      const into = cells.getContext("2d");
      into.setTransform(ratio, 0, 0, ratio, 0, 0);
      into.font = "10px system-ui, sans-serif";
      into.textBaseline = "middle";
      into.fillStyle = css("--faint");
      into.textAlign = "right";
      labels(rows, 22, (r) => into.fillText(rowLabel(r), left - 4, place(r, 0)[1] + size / 2));
      into.textAlign = "left";
      labels(columns, 12 + 6.5 * columnLabel(columns - 1).length, (c) => into.fillText(columnLabel(c), place(0, c)[0], TOP / 2));
      into.textAlign = "center";
      const gap = size > 5 ? 1 : 0;
      for (let r = 0; r < rows; r++) {
        for (let c = 0; c < columns; c++) {
          const colour = options.colour(r, c);
          if (!colour) continue;
          into.fillStyle = colour;
          into.fillRect(...place(r, c), size - gap, size - gap);
          const text = size >= 20 && options.text ? options.text(r, c) : "";
          if (!text) continue;
          into.fillStyle = css("--text");
          into.fillText(text, place(r, c)[0] + size / 2, place(r, c)[1] + size / 2);
        }
      }
    };
    const paint = () => {
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, canvas.width, canvas.height);
      context.drawImage(cells, 0, 0);
      const ratio = devicePixelRatio || 1;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.strokeStyle = css("--outline");
      context.fillStyle = css("--back");
      context.lineWidth = 2;
      context.globalAlpha = options.dims ? 0.75 : 1;
      const stands = (r, c) => r >= 0 && c >= 0 && r < rows && c < columns && options.marked(r, c, at);
      context.beginPath();
      for (let r = 0; options.marked && (at || !options.dims) && r < rows; r++) {
        for (let c = 0; c < columns; c++) {
          const [x, y] = place(r, c);
          const here = stands(r, c);
          if (options.dims && !here) context.fillRect(x, y, size, size);
          if (options.dims || !here) continue;
          // The outline of all that stands out, not of each cell.
          if (!stands(r - 1, c)) { context.moveTo(x, y); context.lineTo(x + size, y); }
          if (!stands(r + 1, c)) { context.moveTo(x, y + size); context.lineTo(x + size, y + size); }
          if (!stands(r, c - 1)) { context.moveTo(x, y); context.lineTo(x, y + size); }
          if (!stands(r, c + 1)) { context.moveTo(x + size, y); context.lineTo(x + size, y + size); }
        }
      }
      context.stroke();
      context.globalAlpha = 1;
      if (!at) return;
      context.strokeStyle = css("--cursor");
      context.lineWidth = 2;
      context.strokeRect(place(...at)[0] - 1, place(...at)[1] - 1, size + 1, size + 1);
    };
    const move = (to) => {
      if (at && to && at[0] === to[0] && at[1] === to[1]) return;
      at = to;
      said.textContent = at ? options.describe(...at) : options.idle || " ";
      if (options.moved) options.moved(at);
      paint();
    };
    const under = (event) => {
      const box = canvas.getBoundingClientRect();
      const c = Math.floor((event.clientX - box.left - left) / size);
      const r = Math.floor((event.clientY - box.top - TOP) / size);
      return r >= 0 && c >= 0 && r < rows && c < columns ? [r, c] : null;
    };
    canvas.addEventListener("mousemove", (event) => { const cell = under(event); if (cell) move(cell); });
    canvas.addEventListener("mouseleave", () => { if (document.activeElement !== canvas) move(null); });
    canvas.addEventListener("focus", () => { if (!at) move(kept); });
    canvas.addEventListener("keydown", (event) => {
      const [r, c] = at || kept;
      const to = { ArrowDown: [r + 1, c], ArrowUp: [r - 1, c], ArrowRight: [r, c + 1], ArrowLeft: [r, c - 1],
        Home: [r, 0], End: [r, columns - 1], PageUp: [0, c], PageDown: [rows - 1, c] }[event.key];
      if (!to) return;
      event.preventDefault();
      kept = [Math.min(Math.max(to[0], 0), rows - 1), Math.min(Math.max(to[1], 0), columns - 1)];
      move(kept);
    });
    const again = () => { paintCells(); paint(); };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    again();
    said.textContent = options.idle || " ";
    const frame = page.element("div", { className: "canvas" }, canvas);
    new ResizeObserver(() => {
      const before = size;
      if (frame.clientWidth) fit(frame.clientWidth);
      if (size !== before) again();
    }).observe(frame);
    return { box: page.element("figure", {}, said, frame, page.element("figcaption", { textContent: options.caption || label })),
      again, at: move };
  };

  // The same for parts of SVG, whose colours are those of the classes.
  page.legendOf = (entries) => page.element("ul", { className: "legend" }, ...entries.map(([name, text]) =>
    page.element("li", {}, page.element("span", { className: `swatch of-${name}`, "aria-hidden": "true" }), text)));

  // Swatches with what they stand for: of many things of a kind only the number.
  page.legend = (kind, count) => page.swatches([...(count > 8 ? [["", kind]] : []), ...Array.from({ length: count }, (_, i) =>
    [page.hue(i, count), count > 8 ? String(i) : `${kind} ${i}`])]);
  page.swatches = (entries) => page.element("ul", { className: "legend" }, ...entries.map(([colour, text]) =>
    page.element("li", {}, ...(colour ? [page.element("span", { className: "swatch", style: `background: ${colour}`, "aria-hidden": "true" })] : []), text)));
}
