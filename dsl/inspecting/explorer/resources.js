// Registers and shared memory over the program, beside the machine IR, and the occupancy that they leave.
{
  const { element, drawn } = page;
  const { program = [], memory = [], occupancy } = page.data.views;

  const bar = (share, text, kind) => element("span", { className: `bar-cell ${kind}` },
    element("span", { className: "fill", style: `width: ${Math.round(100 * share)}%`, "aria-hidden": "true" }),
    element("span", { className: "number", textContent: text }));

  const programTable = () => {
    const mostRegisters = Math.max(...program.map((row) => row.registers), 1);
    const mostShared = Math.max(...program.map((row) => row.shared), 1);
    const made = page.table(`Live at each op of the machine IR: at most ${mostRegisters} registers in each thread, ${page.bytes(mostShared > 1 ? mostShared : 0)} of shared memory`,
      ["line", "registers", "shared memory", "op"], program.map((row) => [
        page.where(row.at).replace(/^.*line /, "") || "–", bar(row.registers / mostRegisters, String(row.registers), "registers"),
        bar(row.shared / mostShared, row.shared ? page.bytes(row.shared) : "0", "shared"),
        element("code", { textContent: row.text })]));
    made.className = "program";
    return page.scrolling(made);
  };

  const curve = (values, most, width, height) => {
    const step = width / values.length;
    return values.map((value, i) => `${(i * step).toFixed(1)},${(height - height * value / most).toFixed(1)} ${((i + 1) * step).toFixed(1)},${(height - height * value / most).toFixed(1)}`).join(" ");
  };

  const overTime = (room) => {
    const [height, left] = [130, 60];
    const width = room - left - 4;
    const registers = program.map((row) => row.registers);
    const most = Math.max(...registers, 1);
    const label = `Registers live in each thread over the ${program.length} ops of the program: at most ${most}`;
    const frame = (title, y, content) => drawn("g", { transform: `translate(${left},${y})` },
      drawn("text", { x: -6, y: 10, class: "axis end" }, title[0]), drawn("text", { x: -6, y: height, class: "axis end" }, "0"),
      drawn("rect", { x: 0, y: 0, width, height, class: "frame" }), ...content);
    const svg = drawn("svg", { viewBox: `0 0 ${left + width + 4} ${memory.length ? 2 * height + 54 : height + 10}`, role: "img", "aria-label": label + ". The table below has the same numbers." },
      frame([String(most)], 4, [drawn("polyline", { points: curve(registers, most, width, height), class: "curve" }),
        drawn("text", { x: 6, y: 14, class: "axis" }, "registers")]));
    const total = Math.max(...memory.map((one) => one.start + one.bytes), 1);
    if (memory.length) {
      svg.append(frame([page.bytes(total)], height + 30, [...memory.map((one, i) => {
        const [x, w] = [(one.first - 1) / program.length * width, (one.last - one.first + 1) / program.length * width];
        const [y, h] = [height * one.start / total, Math.max(height * one.bytes / total, 1)];
        const name = h > 12 && w > 60 ? [drawn("text", { x: x + 4, y: y + Math.min(h / 2 + 4, 14), class: "axis on" }, one.name)] : [];
        return drawn("g", {}, drawn("rect", { x, y, width: w, height: h, style: `fill: ${page.hue(i, memory.length, 0.6)}`, class: "buffer" },
          drawn("title", {}, `${one.name}: ${page.bytes(one.bytes)} from byte ${one.start}`)), ...name);
      })]));
      svg.append(drawn("text", { x: left, y: 2 * height + 48, class: "axis" }, "shared memory: each buffer from its first use to its last; ops from left to right"));
    }
    return svg;
  };

  const overTimeFigure = () => element("figure", {}, page.framed(overTime), element("figcaption", { textContent: "Above: live registers of tiles and scalars in each thread. " +
      (memory.length ? "Below: which bytes of shared memory each buffer has, and while which ops." : "The kernel uses no shared memory.") }));

  const limitsTable = () => {
    const { limits, limited } = occupancy;
    const needs = { registers: `${occupancy.registers} registers a thread${occupancy.assembled ? " (ptxas)" : " (estimated: there is no ptxas)"}`,
      "shared memory": `${page.bytes(occupancy.shared)} a CTA`, threads: `${occupancy.threads} threads a CTA`, "CTA slots": "one a CTA" };
    return page.table("CTAs that an SM can hold", ["resource", "what a CTA takes", "CTAs that fit", "sets the limit"],
      Object.keys(limits).map((name) => [name, needs[name], String(limits[name]), limited.includes(name) ? "yes" : ""]));
  };

  const summary = () => {
    const { resident, warps, most } = occupancy;
    const roles = occupancy.roles.map(([name, count, registers]) => `${count} ${name} warp${count > 1 ? "s" : ""}${registers ? ` with ${registers} registers a thread` : ""}`);
    const parts = [`${resident} CTA${resident === 1 ? "" : "s"} of ${occupancy.threads} threads fit an SM: ${warps} of its ${most} warps, an occupancy of ${Math.round(100 * warps / most)} %. `,
      `The limit is set by ${occupancy.limited.join(" and ")}.`, roles.length ? ` A CTA has ${roles.join(" and ")}.` : "",
      occupancy.spills ? ` ptxas spills ${page.bytes(occupancy.spills)}.` : ""];
    return element("p", { id: "occupancy", textContent: parts.join("") });
  };

  page.view("resources", "Registers & memory", (panel) => {
    panel.append(element("section", { "aria-label": "Occupancy" }, element("h2", { textContent: "Occupancy" }), summary(), page.scrolling(limitsTable())),
      element("section", { "aria-label": "Over the program" }, element("h2", { textContent: "Over the program" }), overTimeFigure(),
        ...(memory.length ? [page.scrolling(page.table("Buffers in shared memory", ["buffer", "type", "first byte", "bytes", "live while ops"],
          memory.map((one) => [one.name, one.type, String(one.start), page.bytes(one.bytes), `${one.first} to ${one.last}`])))] : []),
        programTable()));
  });
}
