// The texts of all stages side by side, whose lines mark each other.
page.view("code", "Code", (panel) => {
  const { data, element } = page;
  const kinds = [["source", "Source"], ["tile", "Tile IR"], ["llvm", "LLVM IR"], ["ptx", "PTX"], ["sass", "SASS"]];
  const panes = new Map();
  const texts = element("div", { className: "panes" });
  let kept = null;  // the line whose counterparts stay marked

  const key = ([file, line]) => `${file}:${line}`;

  // A line of a text: `keys` are its places in the source, the innermost first.
  const lineOf = (text, label, keys, more = "") => {
    const made = element("li", { tabIndex: -1, className: more });
    made.append(element("span", { className: "at", "aria-hidden": "true", textContent: label }), text || " ");
    made.dataset.keys = keys.join(" ");
    return made;
  };
  const keysOf = (place) => (place < 0 ? [] : data.places[place].map(key));
  const labelOf = (place) => (place < 0 ? "" : String(data.places[place][0][1]));

  const sourceLines = (file) => {
    const out = [];
    data.files[file].lines.forEach((text, index) => {
      out.push(lineOf(text, String(index + 1), [key([file, index + 1])]));
      for (const made of data.decisions) {
        if (made.at >= 0 && keysOf(made.at)[0] === key([file, index + 1])) {
          out.push(element("li", { className: "note", textContent: told(made) }));
        }
      }
    });
    return out;
  };
  const told = (made) => `${made.name}: ${made.value}${made.reason ? ` (${made.reason})` : ""}`;

  const stageLines = (stage, withChanges) => {
    const at = (from, index, more) => lineOf(from.lines[index], labelOf(from.at[index]), keysOf(from.at[index]), more);
    const before = data.stages[data.stages.indexOf(stage) - 1];
    if (!withChanges || !stage.changes.length) {
      return stage.lines.map((_, index) => at(stage, index, ""));
    }
    const out = [];
    for (const [what, i1, i2, j1, j2] of stage.changes) {
      for (let i = i1; what !== "equal" && i < i2; i++) out.push(at(before, i, "removed"));
      for (let j = j1; j < j2; j++) out.push(at(stage, j, what === "equal" ? "" : "added"));
    }
    return out;
  };

  const fill = (pane, lines) => {
    pane.list.replaceChildren(...lines);
    const first = pane.list.querySelector("li[data-keys]");
    if (first) first.tabIndex = 0;
    unmark();
  };

  const makePane = ([kind, title]) => {
    const list = element("ol", { className: "text", id: `text-${kind}`, "aria-label": title });
    const bar = element("div", { className: "bar" }, element("h2", { textContent: title }));
    const box = element("section", { className: "pane", id: `pane-${kind}`, "aria-label": title }, bar, list);
    const pane = { kind, box, list };
    panes.set(kind, pane);
    texts.append(box);
    const shown = element("input", { type: "checkbox", checked: true });
    shown.addEventListener("change", () => { box.hidden = !shown.checked; });
    shownPanes.append(element("label", {}, shown, ` ${title}`));
    const choices = kind === "source" ? data.files : data.stages.filter((stage) => stage.kind === kind);
    const choice = element("select", { id: `choice-${kind}`, "aria-label": `${title}: which` });
    choices.forEach((one, index) => choice.append(element("option", { value: index, textContent: one.name })));
    const changes = element("input", { type: "checkbox", id: "changes" });
    const show = () => {
      const chosen = choices[choice.value];
      if (!chosen) return;
      if (chosen.missing) box.replaceChildren(bar, element("p", { className: "missing", textContent: chosen.missing }));
      else fill(pane, kind === "source" ? sourceLines(data.files.indexOf(chosen)) : stageLines(chosen, changes.checked));
    };
    if (choices.length > 1) bar.append(choice);
    if (kind === "tile") {
      choice.value = String(choices.length - 1);
      bar.append(element("label", {}, changes, " changes"));
    }
    choice.addEventListener("change", show);
    changes.addEventListener("change", show);
    show();
  };

  // ---- marks ----------------------------------------------------------------------------------------------------

  const unmark = () => {
    document.querySelectorAll(".marked, .chosen").forEach((line) => line.classList.remove("marked", "chosen"));
  };

  // What a line of the source made has it among its places; of two lines of stages the innermost places agree.
  const counterparts = (line) => {
    const keys = line.dataset.keys.split(" ");
    const ofSource = line.closest(".text").id === "text-source";
    const found = [];
    for (const [kind, pane] of panes) {
      for (const other of pane.list.querySelectorAll("li[data-keys]:not([data-keys=''])")) {
        const its = other.dataset.keys.split(" ");
        const fits = ofSource ? its.includes(keys[0]) : kind === "source" ? keys.includes(its[0]) : its[0] === keys[0];
        if (fits) found.push(other);
      }
    }
    return found;
  };

  const mark = (line) => {
    unmark();
    if (!line.dataset.keys) return [];
    const found = counterparts(line);
    found.forEach((other) => other.classList.add("marked"));
    line.classList.add("chosen");
    return found;
  };

  const say = (line, found) => {
    const counts = kinds.map(([kind, title]) => [title, found.filter((f) => panes.get(kind).list.contains(f)).length]);
    const place = line.dataset.keys && line.dataset.keys.split(" ")[0].split(":");
    const where = place ? `${data.files[place[0]].name}, line ${place[1]}: ` : "this line has no place in the source";
    document.getElementById("said").textContent =
      where + (place ? counts.filter(([, n]) => n).map(([title, n]) => `${n} in ${title}`).join(", ") : "");
  };

  // Where most of a line's counterparts stand together: the first may be a number that the prologue reads for all.
  const longestRun = (list, found) => {
    let best = null, most = 0, start = null, length = 0;
    for (const other of list.children) {
      if (!found.has(other)) { start = null; length = 0; continue; }
      start = start || other;
      length += 1;
      if (length > most) [best, most] = [start, length];
    }
    return best;
  };

  const keep = (line) => {
    const found = mark(line);
    kept = line.dataset.keys ? line : null;
    say(line, found);
    for (const [, pane] of panes) {
      const target = longestRun(pane.list, new Set(found));
      if (target && !pane.list.contains(line)) {
        pane.list.scrollTop = target.offsetTop - pane.list.offsetTop - pane.list.clientHeight / 3;
      }
    }
  };

  const main = document.getElementById("main");
  const lineAt = (event) => event.target.closest("li[data-keys]");
  main.addEventListener("mouseover", (event) => { const line = lineAt(event); if (line) say(line, mark(line)); });
  main.addEventListener("mouseleave", () => { if (kept && kept.isConnected) mark(kept); else unmark(); });
  main.addEventListener("focusin", (event) => { const line = lineAt(event); if (line) say(line, mark(line)); });
  main.addEventListener("click", (event) => { const line = lineAt(event); if (line) { line.focus(); keep(line); } });
  main.addEventListener("keydown", (event) => {
    const line = lineAt(event);
    if (!line) return;
    const lines = [...line.parentElement.querySelectorAll("li[data-keys]")];
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -lines.length, End: lines.length };
    if (event.key in steps) {
      const index = Math.min(Math.max(lines.indexOf(line) + steps[event.key], 0), lines.length - 1);
      line.tabIndex = -1;
      lines[index].tabIndex = 0;
      lines[index].focus();
    } else if (event.key === "Enter" || event.key === " ") keep(line);
    else return;
    event.preventDefault();
  });

  panel.append(
    element("div", { className: "tools", role: "group", "aria-label": "Which panes are shown", id: "panes" }),
    element("p", { className: "help", textContent: "Point at a line, or go to one with Tab and the arrow keys: its " +
      "counterparts are marked. Enter or a click keeps them marked and scrolls to them." }),
    element("p", { id: "said", role: "status", "aria-live": "polite" }), texts);
  const shownPanes = document.getElementById("panes");
  kinds.forEach(makePane);
  const general = data.decisions.filter((made) => made.at < 0);
  if (general.length) {
    const list = panes.get("source").list;
    list.before(element("details", { className: "decisions", open: true },
      element("summary", { textContent: "Decisions" }),
      element("ul", {}, ...general.map((made) => element("li", { textContent: told(made) })))));
  }
  // The kernel itself, not the head of its file.
  const places = data.stages[0].at.filter((place) => place >= 0);
  if (places.length) {
    const [file, line] = data.places[places[0]].at(-1);
    const shown = panes.get("source").list;
    document.getElementById("choice-source")?.setAttribute("data-file", file);
    const head = shown.querySelector(`li[data-keys="${file}:${line}"]`);
    if (head) shown.scrollTop = head.offsetTop - shown.offsetTop - 8;
  }
});
