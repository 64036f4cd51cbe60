// The roofline of a GPU with the kernel's point.
{
  const { element, drawn } = page;
  const { roofline, run, accesses, estimated: why = "" } = page.data.views;

  const scaled = (value, unit) => {
    const units = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
    const [size, prefix] = units.find(([s]) => value >= s) || [1, ""];
    return `${Number((value / size).toPrecision(3))} ${prefix}${unit}`;
  };
  page.duration = (seconds) => (seconds >= 1 ? `${Number(seconds.toPrecision(3))} s` : seconds >= 1e-3 ? `${Number((1e3 * seconds).toPrecision(3))} ms`
    : seconds >= 1e-6 ? `${Number((1e6 * seconds).toPrecision(3))} µs` : `${Number((1e9 * seconds).toPrecision(3))} ns`);

  // The unit that works longest, and all operations as if it did them: the height of the point.
  const busiest = (device) => Object.entries(device.kinds).sort((a, b) => b[1] - a[1])[0];

  const chart = (device) => (room) => {
    const [kind] = busiest(device) || ["f32"];
    const work = roofline.operations[kind] || 0;
    const peak = device.rates[kind];
    const [width, height, left, top] = [room - 110, 360, 90, 12];
    const intensity = work / roofline.least;
    const ridge = peak / device.bandwidth;
    const xs = [Math.min(intensity, work / roofline.most, ridge) / 8, Math.max(intensity, ridge) * 8].map(Math.log10);
    const low = Math.log10(device.bandwidth * 10 ** xs[0]) - 0.2;
    const ys = [low, Math.log10(peak) + 0.4];
    const x = (value) => left + width * (Math.log10(value) - xs[0]) / (xs[1] - xs[0]);
    const y = (value) => top + height * (ys[1] - Math.log10(value)) / (ys[1] - ys[0]);
    const reach = Math.min(peak, device.bandwidth * intensity);
    const svg = drawn("svg", { viewBox: `0 0 ${left + width + 20} ${top + height + 50}`, role: "img",
      "aria-label": `Roofline of ${device.title}: the kernel has ${Number(intensity.toPrecision(3))} operations for each byte and can reach ${scaled(reach, "OP/s")}` });
    svg.append(drawn("rect", { x: left, y: top, width, height, class: "frame" }));
    for (let e = Math.ceil(xs[0]); e <= xs[1]; e++) {
      svg.append(drawn("line", { x1: x(10 ** e), x2: x(10 ** e), y1: top, y2: top + height, class: "grid" }), drawn("text", { x: x(10 ** e), y: top + height + 16, class: "axis middle" }, String(10 ** e)));
    }
    for (let e = Math.ceil(ys[0]); e <= ys[1]; e++) {
      svg.append(drawn("line", { x1: left, x2: left + width, y1: y(10 ** e), y2: y(10 ** e), class: "grid" }), drawn("text", { x: left - 6, y: y(10 ** e) + 4, class: "axis end" }, scaled(10 ** e, "OP/s")));
    }
    svg.append(drawn("polyline", { class: "roof", points: `${x(10 ** xs[0])},${y(device.bandwidth * 10 ** xs[0])} ${x(ridge)},${y(peak)} ${left + width},${y(peak)}` }),
      drawn("text", { x: left + width - 6, y: y(peak) - 8, class: "axis end on" }, `${kind}: ${scaled(peak, "OP/s")}`),
      drawn("text", { x: x(10 ** (xs[0] + 0.06 * (xs[1] - xs[0]))) + 8, y: y(device.bandwidth * 10 ** (xs[0] + 0.06 * (xs[1] - xs[0]))) + 16, class: "axis on" }, `memory: ${scaled(device.bandwidth, "B/s")}`));
    if (roofline.most > roofline.least) {
      const other = work / roofline.most;
      const between = other < ridge && ridge < intensity ? [ridge] : [];
      const points = [other, ...between, intensity].map((value) => `${x(value)},${y(Math.min(peak, device.bandwidth * value))}`);
      svg.append(drawn("polyline", { points: points.join(" "), class: "reach" }));
    }
    svg.append(drawn("line", { x1: x(intensity), x2: x(intensity), y1: y(reach), y2: top + height, class: "drop" }),
      drawn("circle", { cx: x(intensity), cy: y(reach), r: 6, class: "point" }),
      drawn("text", { x: x(intensity) + 10, y: y(reach) + 20, class: "axis on" }, `at most ${scaled(reach, "OP/s")}, ${Number(intensity.toPrecision(3))} a byte`),
      drawn("text", { x: left + width / 2, y: top + height + 38, class: "axis middle" }, `${kind} operations for each byte of memory`));
    const measured = run?.device && run.seconds?.length ? work / run.seconds[Math.floor(run.seconds.length / 2)] : 0;
    if (measured) svg.append(drawn("circle", { cx: x(intensity), cy: y(measured), r: 6, class: "measured" }), drawn("text", { x: x(intensity) + 10, y: y(measured) + 20, class: "axis on" }, `this run: ${scaled(measured, "OP/s")}`));
    return svg;
  };

  const tables = (device) => {
    const unit = (kind) => (kind === roofline.integer || kind.endsWith("i8") ? "OP" : "FLOP");
    const source = (name) => (device.measured.includes(name) ? "measured" : "stated by the maker");
    const rows = Object.keys(roofline.operations).sort((a, b) => (device.kinds[b] || 0) - (device.kinds[a] || 0)).map((kind) => [kind, scaled(roofline.operations[kind], unit(kind)),
      device.rates[kind] ? `${scaled(device.rates[kind], `${unit(kind)}/s`)}, ${source(kind)}` : "not known", device.rates[kind] ? page.duration(device.kinds[kind] || 0) : "–"]);
    const times = ([unique, requested]) => (unique ? `${scaled(unique, "B")}${requested > unique ? `, asked for ${Number((requested / unique).toPrecision(3))} times` : ""}` : "–");
    return [page.scrolling(page.table("What memory and each unit have to do, and how long that takes at least", ["what", "how much", "limit", "takes"],
      [["memory", scaled(roofline.least, "B"), `${scaled(device.bandwidth, "B/s")}, ${source("bandwidth")}`, page.duration(device.memory)], ...rows])),
    page.scrolling(page.table("Bytes of each array", ["array", "read", "written"], roofline.arrays.map((one) => [one.name, times(one.read), times(one.written)])))];
  };

  const view = () => {
    const box = element("div", {});
    const show = (n) => {
      const device = roofline.devices[n];
      box.replaceChildren(
        ...(device.seconds < 2e-6 ? [element("p", { textContent: "So little work takes less than it takes to launch a kernel." })] : []),
        element("p", { id: "bound", textContent: `On the ${device.title} this launch takes at least ${page.duration(device.seconds)}. ` +
          (device.limit === "compute" ? `What bounds it is arithmetic (${(busiest(device) || [""])[0]}): memory could feed more.`
            : "What bounds it is memory: the arithmetic units wait for bytes.") +
          (roofline.most > roofline.least ? ` Memory moves between ${scaled(roofline.least, "B")}, if caches keep all that is read again, and ${scaled(roofline.most, "B")}.` : "") }),
        ...(Object.keys(device.kinds).length && roofline.least ? [element("figure", {}, page.framed(chart(device)), element("figcaption", { textContent: "Below the slope a kernel waits for memory, below the flat roof for arithmetic. The point is the most that this launch can reach" + (roofline.most > roofline.least ? "; the dashed line leads to where it comes if caches keep nothing." : ".") }))] : []),
        ...tables(device));
    };
    const part = element("section", { "aria-label": "Roofline" }, element("h2", { textContent: "Roofline" }),
      ...(accesses?.invented.length ? [element("p", { className: "warning", textContent: `The contents of ${accesses.invented.join(" and ")} are not given: here they count as zeros.` })] : []),
      ...roofline.notes.map((text) => element("p", { className: "warning", textContent: `${text[0].toUpperCase()}${text.slice(1)}.` })),
      element("div", { className: "choices" }, page.choice("GPU", roofline.devices.map((device) => device.title), show, "choice-gpu")), box);
    show(0);
    return part;
  };

  page.view("roofline", "Roofline", (panel) => {
    panel.append(roofline ? view() : element("section", { "aria-label": "Roofline" }, element("h2", { textContent: "Roofline" }), element("p", { textContent: why })));
  });
}
