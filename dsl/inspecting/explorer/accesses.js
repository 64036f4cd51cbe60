// Which block reads and writes which part of each array, and how many sectors a warp's requests touch.
{
  const { element } = page;
  const { accesses, unmapped = "", sectors = [] } = page.data.views;
  const KINDS = ["read", "written"];

  const rounded = (value) => String(Number(value.toPrecision(4)));
  const dims = (numbers) => numbers.join(" × ");
  const gridText = (grid) => dims(grid.slice(0, grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1));
  const often = (times) => (times === 1 ? "once" : `${rounded(times)} times`);

  // The cells that a block touches: a set of numbers, from runs of first cell and length.
  const cellsOf = (kind, block) => {
    const out = new Set();
    const runs = kind.runs[kind.of[block]];
    for (let i = 0; i < runs.length; i += 2) for (let k = 0; k < runs[i + 1]; k++) out.add(runs[i] + k);
    return out;
  };

  // An array of one axis is wrapped: cells stand side by side in lines.
  const sheet = (array) => {
    const [rows, columns] = array.cells;
    return rows === 1 && columns > 64 ? { rows: Math.ceil(columns / 64), columns: 64, wrapped: true } : { rows, columns, wrapped: false };
  };

  const range = (cell, size, extent) => {
    const [first, last] = [cell * size, Math.min((cell + 1) * size, extent) - 1];
    return first === last ? String(first) : `${first} to ${last}`;
  };

  const placeName = (array, of, cell) => {
    const [row, column] = of.wrapped || array.cells[0] === 1 ? [0, cell] : [Math.floor(cell / of.columns), cell % of.columns];
    const columns = range(column, array.sizes[1], array.extents[1]);
    if (array.shape.length === 1) return `elements ${columns}`;
    const names = array.shape.length === 2 ? ["rows", "columns"]
      : [`${array.split === 1 ? "axis 0 at" : `axes 0 to ${array.split - 1} at`}`, `the axes after at`];
    return `${names[0]} ${range(row, array.sizes[0], array.extents[0])}, ${names[1]} ${columns}`;
  };

  const blockName = (block, [x, y]) => {
    const at = [block % x, Math.floor(block / x) % y, Math.floor(block / (x * y))];
    const axes = accesses.grid[2] > 1 ? 3 : accesses.grid[1] > 1 ? 2 : 1;
    return axes === 1 ? String(at[0]) : `(${at.slice(0, axes).join(", ")})`;
  };

  const mean = (array, kind) => array.elements[kind] / array.shape.reduce((product, n) => product * n, 1);
  const sentence = (array) => [0, 1].filter((kind) => array.kinds[kind]).map((kind) => {
    const { times, blocks } = array.kinds[kind];
    const [least, most] = [Math.min(...times), Math.max(...times)];
    const each = least === most ? often(most) : `${rounded(mean(array, kind))} times on average, in a cell of the picture from ${rounded(least)} to ${rounded(most)} times`;
    const together = Math.max(...blocks);
    return `Each element of ${array.name} is ${KINDS[kind]} ${each}; ${together === 1 ? "no cell of the picture is touched by two blocks" : `up to ${together} blocks touch one cell of the picture`}.`;
  }).join(" ");

  const mapView = () => {
    let chosen = 0;
    let how = 0;
    let block = 0;
    const box = element("div", {});
    const choices = element("div", { className: "choices" });
    const total = accesses.grid.reduce((product, n) => product * n, 1);
    const kept = Math.min(total, accesses.kept);
    const input = element("input", { type: "range", min: 0, max: kept - 1, value: 0, id: "block", "aria-label": "Block that stands out" });
    const named = element("output", { htmlFor: "block" });
    let picture = null;
    const show = () => {
      const array = accesses.arrays[chosen];
      const kind = array.kinds[how];
      const of = sheet(array);
      const most = Math.max(...kind.times);
      const even = Math.min(...kind.times) === most;
      let own = cellsOf(kind, block);
      const cell = (r, c) => r * of.columns + c;
      const touching = (number) => {
        const out = [];
        for (let b = 0; b < kind.of.length && out.length < 9; b++) if (cellsOf(kind, b).has(number)) out.push(b);
        return out;
      };
      const told = (r, c) => {
        const number = cell(r, c);
        if (number >= kind.times.length) return " ";
        const count = kind.blocks[number];
        const some = touching(number).slice(0, 8).map((b) => blockName(b, accesses.grid)).join(", ");
        return `${placeName(array, of, number)}: each element ${KINDS[how]} ${often(kind.times[number])}${even ? "" : " on average"}; ` +
          (count ? `by ${count} block${count > 1 ? "s" : ""}: ${some}${count > 8 ? ", …" : ""}` : "by no block");
      };
      picture = page.picture({ rows: of.rows, columns: of.columns, least: 5, describe: told,
        label: `How often each part of ${array.name} is ${KINDS[how]}`,
        colour: (r, c) => (cell(r, c) < kind.times.length ? page.shade(even ? 0.4 : kind.times[cell(r, c)] / most) : ""),
        marked: (r, c) => own.has(cell(r, c)),
        rowLabel: (r) => String(of.wrapped ? r * of.columns * array.sizes[1] : r * array.sizes[0]),
        columnLabel: (c) => String(c * array.sizes[1]),
        idle: `Outlined: the part that block ${blockName(block, accesses.grid)} has ${KINDS[how]}. Point at a cell to see whose it is.`,
        caption: `${array.name}: ${dims(array.shape)} elements of ${array.itemsize} bytes. A cell is ${of.wrapped || array.cells[0] === 1 ? array.sizes[1] : dims(array.sizes)} ` +
          `element${array.sizes[0] * array.sizes[1] > 1 ? "s" : ""}${of.wrapped ? `, a line ${of.columns} cells` : ""}; the stronger its colour, the more often they are ${KINDS[how]}: at most ${often(most)}${even ? "" : " on average over the cell"}.` });
      picture.box.dataset.kind = "access";
      picture.own = (b) => { own = cellsOf(kind, b); picture.again(); };
      box.replaceChildren(element("p", { id: "accessed", textContent: sentence(array) }), picture.box,
        page.asTable(() => page.table(`Parts of ${array.name}: how often each element is ${KINDS[how]}, and by how many blocks`,
          ["part", "times", "blocks"], kind.times.slice(0, 512).map((times, number) =>
            [placeName(array, of, number), rounded(times), String(kind.blocks[number])]))));
    };
    const choose = (b) => {
      block = b;
      named.textContent = `block ${blockName(block, accesses.grid)}`;
      if (picture) picture.own(block);
    };
    input.addEventListener("input", () => choose(Number(input.value)));
    const offer = () => {
      const { kinds } = accesses.arrays[chosen];
      const possible = [0, 1].filter((kind) => kinds[kind]);
      how = possible[0];
      const array = page.choice("Array", accesses.arrays.map((one) => `${one.name}: ${dims(one.shape)}`), (n) => { chosen = n; offer(); show(); }, "choice-array");
      array.querySelector("select").value = String(chosen);
      choices.replaceChildren(array, page.choice("What is", possible.map((kind) => KINDS[kind]), (n) => { how = possible[n]; show(); }, "choice-kind"),
        element("label", { className: "choice" }, "By ", input, " ", named));
    };
    offer();
    choose(0);
    show();
    const notes = [];
    if (accesses.ended) notes.push("The run was ended before all accesses were seen: the map has the first of them.");
    if (total > kept) notes.push(`Whose a cell is, is kept of the first ${kept} of ${total} blocks.`);
    if (accesses.invented.length) notes.push(`The contents of ${accesses.invented.join(" and ")} decide where accesses go. They were made up (random, from 0 to below the largest extent): give the array as FILE.npy or with a fill such as :arange.`);
    return element("section", { "aria-label": "Map of arrays" }, element("h2", { textContent: "Which block accesses what" }),
      element("p", { textContent: `The kernel's ${gridText(accesses.grid)} blocks, run in the interpreter without their arithmetic. An element that several blocks read comes from memory once and from the L2 cache later, if it stays there so long.` }),
      ...notes.map((text) => element("p", { className: "warning", textContent: text })), choices, box,
      page.scrolling(page.table("All accesses of the grid", ["array", "what", "line", "elements"], accesses.ops.map((one) =>
        [one.array, one.what, page.where(one.at) || "–", one.elements.toLocaleString("en-US")]))));
  };

  const sectorTable = () => element("section", { "aria-label": "Sectors" }, element("h2", { textContent: "Sectors of each request" }),
    element("p", { textContent: "A load or store of a warp is one request. Memory moves sectors of 32 bytes: a request that touches more sectors than its bytes fill moves bytes that nobody asked for." }),
    page.scrolling(page.table("Requests of one block", ["array", "access", "line", "bytes a lane", "requests", "sectors a request", "sectors that its bytes fill", "share of the sectors that is used"],
      sectors.map((one) => (one.note ? [one.array, one.what, page.where(one.at) || "–", "–", "–", "–", "–", one.note]
        : [one.array, one.what, page.where(one.at) || "–", String(one.bytes), String(one.requests), rounded(one.sectors), rounded(one.least),
          one.sectors ? `${Math.round(100 * one.least / one.sectors)} %` : ""])))));

  page.view("accesses", "Memory accesses", (panel) => {
    panel.append(accesses?.arrays.length ? mapView() : element("section", { "aria-label": "Map of arrays" },
      element("h2", { textContent: "Which block accesses what" }), element("p", { textContent: unmapped || "The kernel accesses no array." })), sectorTable());
  });
}
