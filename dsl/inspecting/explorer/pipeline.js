// The software pipeline of each loop with rings, as a timeline.
{
  const { element, drawn } = page;
  const { timelines = [], intervals = [] } = page.data.views;

  const ROW = 26;
  const LEFT = 150;
  const bar = (x, y, width, kind, text, title) => {
    const parts = [drawn("rect", { x: x.toFixed(1), y, width: Math.max(width, 0.5).toFixed(1), height: ROW - 6, class: kind }, drawn("title", {}, title))];
    if (text && width > 7 * text.length + 4) parts.push(drawn("text", { x: (x + width / 2).toFixed(1), y: y + ROW / 2 + 1, class: "axis on middle" }, text));
    return parts;
  };

  const chart = (line) => (room) => {
    const WIDTH = room - LEFT - 12;
    const { events, slots } = line;
    const end = events.at(-1).end;
    const at = (cycles) => LEFT + WIDTH * cycles / end;
    const copier = line.producer ? "producer warp" : "copies started";
    const rows = [copier, `${line.engine} moves bytes`, ...Array.from({ length: slots }, (_, s) => `slot ${s}`), line.producer ? "consumer warps" : "computing"];
    const svg = drawn("svg", { viewBox: `0 0 ${room} ${rows.length * ROW + 40}`, role: "img",
      "aria-label": `Timeline of ${events.length} iterations over ${slots} slots, in cycles. The table below has the same numbers.` });
    rows.forEach((name, i) => {
      svg.append(drawn("rect", { x: LEFT, y: i * ROW, width: WIDTH, height: ROW - 2, class: "lane" }),
        drawn("text", { x: LEFT - 8, y: i * ROW + ROW / 2 + 3, class: "axis end" }, name));
    });
    for (const tick of page.ticks(end, Math.max(3, Math.floor(WIDTH / 90)))) {
      svg.append(drawn("line", { x1: at(tick), x2: at(tick), y1: 0, y2: rows.length * ROW, class: "grid" }),
        drawn("text", { x: at(tick), y: rows.length * ROW + 14, class: tick ? "axis middle" : "axis" }, tick.toLocaleString("en-US")));
    }
    const last = rows.length - 1;
    events.forEach((event, k) => {
      const add = (row, from, to, kind, text, title) => svg.append(...bar(at(from), row * ROW + 2, at(to) - at(from), kind, text, title));
      add(0, event.issue, event.issue, "tick", "", `copies of iteration ${k} start at ${event.issue}`);
      svg.append(drawn("circle", { cx: at(event.issue).toFixed(1), cy: ROW / 2 - 1, r: 4, class: "tick" }, drawn("title", {}, `copies of iteration ${k} start at cycle ${event.issue}`)));
      add(1, event.move, event.move + line.busy, "move", String(k), `iteration ${k}: ${page.bytes(line.bytes)} move from ${event.move} to ${event.move + line.busy}`);
      add(2 + event.slot, event.issue, event.landed, "filling", String(k), `iteration ${k} in flight from ${event.issue} to ${event.landed}`);
      add(2 + event.slot, event.landed, event.begin, "full", "", `iteration ${k} waits, landed, from ${event.landed} to ${event.begin}`);
      add(2 + event.slot, event.begin, event.end, "reading", String(k), `iteration ${k} is read from ${event.begin} to ${event.end}`);
      add(last, event.begin, event.end, "reading", String(k), `iteration ${k} computes from ${event.begin} to ${event.end}`);
    });
    svg.append(drawn("text", { x: LEFT, y: rows.length * ROW + 32, class: "axis" }, "cycles of the SM"));
    return svg;
  };

  const cyclesText = (cycles) => Object.entries(cycles).sort((a, b) => b[1] - a[1]).map(([name, count]) => `${name} ${count}`).join(", ");

  const summary = (line) => {
    const { events } = line;
    // Between the iterations that use the ring for the first time and the last one shown.
    const first = line.slots;
    const steady = Math.round((events.at(-1).begin - events[first].begin) / (events.length - 1 - first));
    const wait = steady - line.work;
    const roles = line.roles.length ? line.roles.map(([name, warps, registers]) => `${warps} ${name} warp${warps > 1 ? "s" : ""}${registers ? ` (${registers} registers a thread)` : ""}`).join(", ")
      : `all ${line.warps} warps copy and compute`;
    return [
      `${line.tiles.join(" and ")}: ${page.bytes(line.bytes)} in each iteration, by ${line.engine}, in a ring of ${line.slots} slots. ${roles[0].toUpperCase()}${roles.slice(1)}.`,
      `Each iteration takes at least ${Math.max(...Object.values(line.cycles))} cycles, which ${line.pipe} ${line.pipe.endsWith("s") ? "need" : "needs"} (${cyclesText(line.cycles)}). ` +
        `Copies start up to ${line.ahead} iteration${line.ahead > 1 ? "s" : ""} ahead. ` +
        `In this model the first iteration waits ${events[0].begin} cycles for its data. ` +
        (wait <= line.work / 50 ? "Later ones begin as soon as the one before has ended: the latency is hidden."
          : `Later ones begin every ${steady} cycles on average, ${wait} of which they wait for data: other CTAs on the same SM can compute meanwhile.`)];
  };

  const timelineView = (line) => element("section", { "aria-label": `Pipeline of ${page.where(line.at)}` },
    element("h2", { textContent: `Loop at ${page.where(line.at) || "an unknown line"}` }),
    ...summary(line).map((text) => element("p", { className: "summary", textContent: text })),
    page.legendOf([["tick", "copies start"], ["filling", "copy in flight"], ["full", "landed, waits"], ["reading", "read by the computing warps"], ["move", "bytes move"]]),
    element("figure", {}, page.framed(chart(line)), element("figcaption", { textContent: "A model from the plan and the rates of the pipes, not a measurement. The number in a bar is that of the iteration." })),
    page.asTable(() => page.table("Cycles of each iteration", ["iteration", "slot", "copies start", "bytes move from", "landed", "computes from", "to"],
      line.events.map((event, k) => [String(k), String(event.slot), String(event.issue), String(event.move), String(event.landed), String(event.begin), String(event.end)]))));

  page.view("pipeline", "Pipeline", (panel) => {
    const pipelined = new Set(timelines.map((line) => line.at));
    const others = intervals.filter((one) => !pipelined.has(one.at));
    panel.append(...timelines.map(timelineView));
    if (!timelines.length) {
      panel.append(element("section", { "aria-label": "Pipeline" }, element("h2", { textContent: "No software pipeline" }),
        element("p", { textContent: intervals.length ? "No loop of this kernel copies tiles of later iterations ahead into a ring of shared memory. The decisions on the tab Code say why, where there was a choice."
          : "This kernel has no loop over tiles: there is nothing to pipeline. Its latency is hidden by other CTAs on the same SM." })));
    }
    if (others.length) {
      panel.append(element("section", { "aria-label": "Other loops" }, element("h2", { textContent: "Other loops" }),
        page.scrolling(page.table("Cycles that an iteration keeps each pipe busy", ["loop", "bound by", "cycles"],
          others.map((one) => [page.where(one.at) || "–", one.pipe, cyclesText(one.cycles)])))));
    }
  });
}
