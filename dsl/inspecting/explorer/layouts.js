// Which thread and register holds an element of a tile, and in which bank of shared memory one lies.
{
  const { element } = page;
  const WRAP = 64;
  const MOST = 1 << 16;  // elements that are drawn

  // Vectors of an index as numbers of elements in row-major order; extents are powers of two, so that XOR works.
  const flat = (vectors, shape) => vectors.map((vector) => vector.reduce((sum, part, axis) => sum * shape[axis] + part, 0));
  const combined = (bases, number) => bases.reduce((sum, base, bit) => (number >> bit & 1 ? sum ^ base : sum), 0);
  const sizeOf = (shape) => shape.reduce((product, n) => product * n, 1);
  const indexOf = (place, shape) => {
    const out = [];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      out.unshift(place % shape[axis]);
      place = Math.floor(place / shape[axis]);
    }
    return `(${out.join(", ")})`;
  };

  // How a tile is laid out on the page: leading axes one below the other, long single rows wrapped.
  const sheet = (shape) => {
    const size = Math.min(sizeOf(shape), MOST);
    const last = shape.at(-1);
    const columns = size / last <= 1 && last > WRAP ? WRAP : Math.min(last, 512);
    return { size, columns, rows: Math.ceil(size / columns), cut: size < sizeOf(shape), wrapped: columns !== last };
  };
  const rowName = (shape, of) => (r) => (shape.length === 2 && !of.wrapped ? String(r)
    : shape.length > 2 && !of.wrapped && shape.at(-1) === of.columns ? indexOf(r, shape.slice(0, -1)).slice(1, -1) : String(r * of.columns));

  // For each element who holds it: [warp, lane, register] of the first, and how many do.
  const owners = (layout, size) => {
    const register = flat(layout.register, layout.shape);
    const lane = flat(layout.lane, layout.shape);
    const warp = flat(layout.warp, layout.shape);
    const held = Array.from({ length: size }, () => null);
    for (let w = 0; w < 1 << warp.length; w++) {
      for (let l = 0; l < 1 << lane.length; l++) {
        const thread = combined(warp, w) ^ combined(lane, l);
        for (let r = 0; r < 1 << register.length; r++) {
          const place = thread ^ combined(register, r);
          if (place >= size) continue;
          if (held[place]) held[place].copies += 1;
          else held[place] = { warp: w, lane: l, register: r, copies: 1 };
        }
      }
    }
    return held;
  };

  const vectorText = (vector) => `(${vector.join(", ")})`;
  const bitsTable = (caption, groups) => page.table(caption, ["bit", "moves the element by"], groups.flatMap(([name, vectors]) =>
    vectors.map((vector, bit) => [`${name} bit ${bit}`, vector.some(Boolean) ? vectorText(vector) : "nothing: a copy"])));

  const cornerTable = (caption, of, text) => {
    const [rows, columns] = [Math.min(of.rows, 16), Math.min(of.columns, 32)];
    const cut = rows < of.rows || columns < of.columns ? `, the first ${rows} rows and ${columns} columns` : "";
    return page.table(`${caption}${cut}`, ["row", ...Array.from({ length: columns }, (_, c) => String(c))],
      Array.from({ length: rows }, (_, r) => [String(r), ...Array.from({ length: columns }, (_, c) => text(r * of.columns + c))]));
  };

  // ---- tiles in registers ---------------------------------------------------------------------------------------

  const names = (entry, most = 4) => {
    const all = [...new Set(entry.values.map((value) => value.name))];
    return all.slice(0, most).join(", ") + (all.length > most ? ` and ${all.length - most} more` : "");
  };
  const KINDS = ["warp", "lane", "register"];

  const tileView = (layouts) => {
    let chosen = 0;
    // One warp has one colour: then the lanes say more.
    let kind = layouts[0].warp.length ? 0 : 1;
    const box = element("div", {});
    const show = () => {
      const layout = layouts[chosen];
      const { shape } = layout;
      const of = sheet(shape);
      const held = owners(layout, of.size);
      const counts = { warp: 1 << layout.warp.length, lane: 1 << layout.lane.length, register: 1 << layout.register.length };
      const by = KINDS[kind];
      const place = (r, c) => r * of.columns + c;
      const told = (r, c) => {
        const found = held[place(r, c)];
        const more = found.copies > 1 ? `, and ${found.copies - 1} other thread${found.copies > 2 ? "s" : ""} hold a copy` : "";
        return `element ${indexOf(place(r, c), shape)} → warp ${found.warp}, lane ${found.lane}, register ${found.register}${more}`;
      };
      const same = (r, c, at) => {
        if (!at) return false;
        const [one, other] = [held[place(r, c)], held[place(...at)]];
        return one.warp === other.warp && one.lane === other.lane;
      };
      const colour = (r, c) => {
        const found = held[place(r, c)];
        return page.hue(found[by], counts[by], by === "warp" ? found.lane / Math.max(counts.lane - 1, 1) : 0.5);
      };
      const picture = page.picture({ rows: of.rows, columns: of.columns, colour, describe: told, marked: same, dims: true,
        label: `Who holds each element of a tile ${shape.join("x")}`,
        text: (r, c) => String(held[place(r, c)][by]), rowLabel: rowName(shape, of),
        idle: "Point at an element: the elements of other threads are dimmed.",
        caption: `Tile ${shape.join("x")}, coloured by ${by}${by === "warp" ? ", lighter for higher lanes" : ""}` +
          `${of.wrapped ? "; long rows are wrapped" : ""}${of.cut ? `; the first ${of.size} elements` : ""}.` });
      picture.box.dataset.kind = "tile";
      const legend = counts[by] <= 32 ? [page.legend(by, counts[by])] : [];
      const threads = counts.warp * counts.lane;
      box.replaceChildren(
        element("p", { textContent: `${threads} threads in ${counts.warp} warp${counts.warp > 1 ? "s" : ""} hold ` +
          `${counts.register} element${counts.register > 1 ? "s" : ""} each` +
          `${threads * counts.register > sizeOf(shape) ? `: each element is held ${threads * counts.register / sizeOf(shape)} times` : ""}.` }),
        ...legend, picture.box,
        page.asTable(() => element("div", {},
          cornerTable("Who holds each element: warp, lane, register", of, (p) => { const f = held[p]; return f ? `w${f.warp} l${f.lane} r${f.register}` : ""; }),
          bitsTable("The layout: what each bit of the numbers of register, lane and warp contributes", [["register", layout.register], ["lane", layout.lane], ["warp", layout.warp]]))),
        element("details", { className: "alternative" },
          element("summary", { textContent: `Values with this layout (${layout.values.length})` }),
          element("ul", {}, ...layout.values.slice(0, 200).map((value) => element("li", {
            textContent: `${value.name}: ${value.type}${value.at >= 0 ? `, ${page.where(value.at)}` : ""}` })))));
    };
    const entries = layouts.map((layout) => `${layout.shape.join("x")}: ${names(layout)}`);
    const part = element("section", { "aria-label": "Tiles in registers" },
      element("h2", { textContent: "Tiles in registers" }),
      element("p", { textContent: "A tile's elements are spread over the registers of a block's threads. 32 threads, the lanes, make a warp." }),
      element("div", { className: "choices" },
        page.choice("Layout of", entries, (n) => { chosen = n; show(); }, "choice-layout"),
        page.choice("Coloured by", KINDS, (n) => { kind = n; show(); }, "choice-colour")), box);
    part.querySelector("#choice-colour").value = String(kind);
    show();
    return part;
  };

  // ---- shared memory --------------------------------------------------------------------------------------------

  const BANKS = 32;

  // The requests of lanes that the banks serve together: for each, the words that each bank must give.
  const phases = (access) => {
    const out = [];
    for (let first = 0; first < access.lanes.length; first += access.group) {
      const banks = Array.from({ length: BANKS }, () => new Map());
      for (let lane = first; lane < first + access.group; lane++) {
        for (let byte = 0; byte < Math.max(access.width, 4); byte += 4) {
          const word = Math.floor((access.lanes[lane] + byte) / 4);
          const lanes = banks[word % BANKS];
          lanes.set(word, [...(lanes.get(word) || []), lane]);
        }
      }
      out.push(banks);
    }
    return out;
  };

  const accessTitle = (access) => `${access.what}${access.at >= 0 ? ` of ${page.where(access.at)}` : ""}: ${access.how}`;
  const verdict = (access) => (access.lanes === undefined ? "moved as a whole, not lane by lane"
    : access.conflicts ? `conflicts: ${access.conflicts + 1} wavefronts where 1 would do`
      : "no bank conflicts");

  const bankPicture = (access) => {
    const found = phases(access);
    const worst = (r, c) => found[r][c].size;
    const told = (r, c) => {
      const words = [...found[r][c]].map(([word, lanes]) => `word ${word} for lane${lanes.length > 1 ? "s" : ""} ${lanes.join(", ")}`);
      return `bank ${c}, lanes ${r * access.group} to ${(r + 1) * access.group - 1}: ` + (words.length
        ? `${words.join("; ")}${words.length > 1 ? `: ${words.length} wavefronts` : ""}` : "not used");
    };
    const colour = (r, c) => (worst(r, c) === 0 ? getComputedStyle(document.documentElement).getPropertyValue("--line")
      : page.verdict(worst(r, c) === 1));
    const picture = page.picture({ rows: found.length, columns: BANKS, cell: 24, colour, describe: told,
      text: (r, c) => (worst(r, c) ? String(worst(r, c)) : ""), rowLabel: (r) => `${r * access.group}–${(r + 1) * access.group - 1}`, idle: "Point at a bank for its words.",
      label: "Words that each bank gives to the lanes that are served together",
      caption: "Banks 0 to 31 from left to right; a row is a group of lanes of warp 0 that are served together. The number is that of different words in the bank: more than 1 is a conflict." });
    picture.box.dataset.kind = "banks";
    return [picture.box, page.asTable(() => page.table("Words that each bank gives", ["first lane", ...Array.from({ length: BANKS }, (_, b) => String(b))],
      found.map((banks, r) => [String(r * access.group), ...banks.map((words) => String(words.size))])))];
  };

  const sharedView = (buffers) => {
    let chosen = 0;
    let seen = 0;
    const box = element("div", {});
    const accesses = element("div", { className: "choices" });
    const show = () => {
      const buffer = buffers[chosen];
      const { shape } = buffer;
      const of = sheet(shape);
      const access = buffer.accesses[seen];
      const bases = flat(buffer.offset, shape);
      const offsets = new Int32Array(sizeOf(shape));
      for (let offset = 0; offset < offsets.length; offset++) offsets[combined(bases, offset)] = offset * buffer.bytes;
      const moved = new Set();
      if (access?.lanes) {
        const of32 = access.lanes.slice(0, access.group);
        of32.forEach((start) => { for (let b = 0; b < access.width; b += buffer.bytes) moved.add(start + b); });
      }
      const place = (r, c) => r * of.columns + c;
      const bank = (p) => Math.floor(offsets[p] / 4) % BANKS;
      const told = (r, c) => {
        const p = place(r, c);
        return `element ${indexOf(p, shape)} → byte ${offsets[p]} of the buffer: bank ${bank(p)}, row ${Math.floor(offsets[p] / 128)} of 128 bytes`;
      };
      const picture = page.picture({ rows: of.rows, columns: of.columns, describe: told, label: `Banks of a buffer of ${shape.join("x")} elements`,
        colour: (r, c) => page.hue(bank(place(r, c)), BANKS, 0.4), text: (r, c) => String(bank(place(r, c))),
        marked: (r, c) => moved.has(offsets[place(r, c)]), rowLabel: rowName(shape, of),
        idle: access?.lanes ? "Outlined: what the lanes that are served together move first. Point at an element for its bank." : "Point at an element for its bank.",
        caption: `${buffer.name}: ${buffer.type}, coloured by bank${of.cut ? `; the first ${of.size} elements` : ""}.` });
      picture.box.dataset.kind = "shared";
      box.replaceChildren(
        element("p", { textContent: `${buffer.copies > 1 ? `A ring of ${buffer.copies} slots of ` : ""}${page.bytes(sizeOf(shape) * buffer.bytes)} ` +
          `from byte ${buffer.start} of the block's shared memory${buffer.at >= 0 ? `, made for ${page.where(buffer.at)}` : ""}.` }),
        page.legend("bank", BANKS), picture.box,
        page.asTable(() => element("div", {}, cornerTable("Bank of each element", of, (p) => String(bank(p))),
          bitsTable("The layout: what each bit of the offset, in elements, contributes", [["offset", buffer.offset]]))),
        ...(access?.lanes ? [element("h3", { textContent: `Banks of ${access.what}` }), ...bankPicture(access)] : []),
        page.table("Accesses of this buffer", ["access", "line", "how", "bank conflicts"], buffer.accesses.map((one) =>
          [one.what, page.where(one.at) || "–", one.how, verdict(one)])));
    };
    const offer = () => {
      const { accesses: all } = buffers[chosen];
      seen = Math.max(all.findIndex((access) => access.lanes), 0);
      const select = page.choice("Access", all.length ? all.map(accessTitle) : ["none"], (n) => { seen = n; show(); }, "choice-access");
      select.querySelector("select").value = String(seen);
      accesses.replaceChildren(page.choice("Buffer", buffers.map((b) => `${b.name}: ${b.shape.join("x")}${b.copies > 1 ? `, ${b.copies} slots` : ""}`),
        (n) => { chosen = n; offer(); show(); }, "choice-buffer"), select);
      accesses.querySelector("#choice-buffer").value = String(chosen);
    };
    offer();
    show();
    return element("section", { "aria-label": "Shared memory" }, element("h2", { textContent: "Shared memory" }),
      element("p", { textContent: "Shared memory has 32 banks of 4 bytes. Lanes that need different words of one bank at once wait for each other; swizzled layouts spread neighbours so that they need not." }),
      accesses, box);
  };

  const { layouts = [], shared = [] } = page.data.views;
  page.view("layouts", "Layouts", (panel) => {
    panel.append(layouts.length ? tileView(layouts) : element("p", { textContent: "This kernel has no tiles of more than one element." }),
      shared.length ? sharedView(shared) : element("section", { "aria-label": "Shared memory" }, element("h2", { textContent: "Shared memory" }),
        element("p", { textContent: "This kernel keeps no tiles in shared memory." })));
  });
}
