// What a run of the kernel took and gave, where one was asked for.
{
  const { element } = page;
  const { run } = page.data.views;
  const number = (value) => (typeof value === "string" ? value : String(Number(value.toPrecision(6))));

  const timing = () => {
    const { seconds } = run;
    const middle = seconds[Math.floor(seconds.length / 2)];
    if (!run.device) return `The interpreter, on this machine's CPU, took ${page.duration(middle)}. That says nothing of a GPU.`;
    return `On ${run.device} a launch took ${page.duration(middle)} (median of ${seconds.length}; from ${page.duration(seconds[0])} to ${page.duration(seconds.at(-1))}), with the L2 cache emptied before each.`;
  };

  if (run) {
    page.view("run", "Run", (panel) => {
      panel.append(element("section", { "aria-label": "Run" }, element("h2", { textContent: "Run" }),
        element("p", { id: "ran", textContent: run.error || timing() }),
        ...(run.error ? [] : [
          ...(run.random ? [element("p", { textContent: `Arrays that were given by type alone held random numbers (seed ${run.seed}).` })] : []),
          page.scrolling(page.table("What the kernel wrote", ["array", "type", "least", "mean", "most", "inf or NaN", "first elements"], run.arrays.map((one) =>
            [one.name, `${one.dtype} ${one.shape.join(" × ")}`, number(one.least), number(one.mean), number(one.most), String(one.strange), one.first.map(number).join(", ")])))])));
    });
  }
}
