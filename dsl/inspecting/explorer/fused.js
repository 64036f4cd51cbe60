// The launches of a recording: the picture that the compiler drew of them, and what became of each.
{
  const { element } = page;
  const { fused } = page.data.views;

  if (fused) {
    page.view("launches", "Launches", (panel) => {
      const drawing = element("div", { id: "fused", className: "scrolling", tabIndex: 0 });
      drawing.setAttribute("role", "group");
      drawing.setAttribute("aria-label", "The launches and their arrays");
      drawing.innerHTML = fused.picture;
      panel.append(element("section", { "aria-label": "Launches" }, element("h2", { textContent: "Launches" }),
        element("p", { textContent: `This page shows launch ${fused.launch + 1} of ${fused.launches}. Arrays on the left are read from memory, those on the right written to it.` }),
        drawing, element("pre", { id: "explained", textContent: fused.explained, tabIndex: 0 })));
    });
  }
}
