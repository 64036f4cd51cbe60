"use strict";
// What all parts of the page share: the data, elements, and the tabs.
const page = {
  data: JSON.parse(document.getElementById("data").textContent),
  views: [],

  // An element; attributes that are no properties (aria-*, role, colspan) are set as such.
  element(name, options = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(options)) {
      if (key in made && !key.startsWith("aria")) made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  },

  // An element of SVG.
  drawn(name, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  },

  // A labelled choice; `changed` is called with the number of the entry, also at once.
  choice(label, entries, changed, id = "") {
    const select = page.element("select", { "aria-label": label, ...(id ? { id } : {}) });
    entries.forEach((text, index) => select.append(page.element("option", { value: index, textContent: text })));
    select.addEventListener("change", () => changed(Number(select.value)));
    return page.element("label", { className: "choice" }, `${label} `, select);
  },

  // A table from rows of texts or elements; the first entry of a row is its head.
  table(caption, heads, rows) {
    const cell = (name, content, more = {}) => {
      const made = page.element(name, more);
      made.append(content);
      return made;
    };
    return page.element("table", {}, page.element("caption", { textContent: caption }),
      page.element("thead", {}, page.element("tr", {}, ...heads.map((head) => cell("th", head, { scope: "col" })))),
      page.element("tbody", {}, ...rows.map(([first, ...rest]) => page.element("tr", {},
        cell("th", first, { scope: "row" }), ...rest.map((content) => cell("td", content))))));
  },

  // A table that is made when it is opened: what a picture shows, as text.
  asTable(build) {
    const made = page.element("details", { className: "alternative" },
      page.element("summary", { textContent: "The same as a table" }));
    made.addEventListener("toggle", () => { if (made.open && made.children.length === 1) made.append(page.scrolling(build())); });
    return made;
  },

  // A part that scrolls on its own can be reached by the keyboard.
  scrolling(...children) {
    const label = children[0].querySelector?.("caption")?.textContent || "a table";
    return page.element("div", { className: "scrolls", tabIndex: 0, role: "region", "aria-label": label }, ...children);
  },

  // How wide a picture in a view can be, in pixels.
  room: () => document.getElementById("main").clientWidth - 34,

  // A picture of SVG, which `draw(width)` makes again where the room for it changes: text is not made smaller.
  framed(draw) {
    const box = page.element("div", { className: "framed" });
    let last = 0;
    const fit = (room) => {
      const width = Math.round(Math.min(Math.max(room, 480), 1100));
      if (!room || width === last) return;
      last = width;
      box.replaceChildren(draw(width));
    };
    fit(page.room());
    new ResizeObserver(() => fit(box.clientWidth)).observe(box);
    return box;
  },

  // Round numbers from 0 to `end`, at most `most` of them.
  ticks(end, most) {
    const power = 10 ** Math.floor(Math.log10(end / most));
    const step = [1, 2, 5, 10].map((part) => Math.max(part * power, 1)).find((size) => end / size <= most);
    return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
  },

  // "matmul.py, line 12", or nothing for what has no place.
  where(at) {
    if (at < 0) return "";
    const [file, line] = page.data.places[at][0];
    return `${page.data.files[file].name}, line ${line}`;
  },

  bytes(count) {
    if (count < 1024) return `${count} B`;
    const [size, unit] = count < 1 << 20 ? [count / 1024, "KiB"] : count < 1 << 30 ? [count / 2 ** 20, "MiB"] : [count / 2 ** 30, "GiB"];
    return `${Number(size.toFixed(size < 10 ? 2 : 1))} ${unit}`;
  },

  // A view behind a tab; `build(panel)` fills it when it is first shown.
  view(id, title, build) {
    page.views.push({ id, title, build });
  },

  start() {
    const tabs = document.getElementById("tabs");
    const main = document.getElementById("main");
    const show = (chosen) => {
      for (const view of page.views) {
        const here = view === chosen;
        view.panel.hidden = !here;
        view.tab.setAttribute("aria-selected", String(here));
        view.tab.tabIndex = here ? 0 : -1;
      }
      if (!chosen.built) {
        chosen.built = true;
        chosen.build(chosen.panel);
      }
    };
    for (const view of page.views) {
      view.panel = page.element("div", { id: `view-${view.id}`, role: "tabpanel", "aria-labelledby": `tab-${view.id}` });
      view.tab = page.element("button", { id: `tab-${view.id}`, role: "tab", type: "button", textContent: view.title,
        "aria-controls": `view-${view.id}` });
      view.tab.addEventListener("click", () => show(view));
      tabs.append(view.tab);
      main.append(view.panel);
    }
    tabs.addEventListener("keydown", (event) => {
      const at = page.views.findIndex((view) => view.tab === document.activeElement);
      const last = page.views.length - 1;
      const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[event.key];
      if (to === undefined || at < 0) return;
      show(page.views[to]);
      page.views[to].tab.focus();
      event.preventDefault();
    });
    const named = page.views.find((view) => `#${view.id}` === location.hash);
    show(page.views[0]);
    if (named) show(named);
  },
};
