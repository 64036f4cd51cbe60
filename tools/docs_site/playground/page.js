// The page: its fields make a question, which the worker answers.
const at = (name) => document.getElementById(name);
const worker = new Worker("worker.mjs", { type: "module" });
const waiting = new Map();
let asked = 0;

worker.onmessage = ({ data }) => {
  waiting.get(data.number)(data.text);
  waiting.delete(data.number);
};

const ask = (question, program) => new Promise((done) => {
  waiting.set(++asked, done);
  worker.postMessage({ number: asked, question, program });
});

const show = async (question) => {
  const buttons = document.querySelectorAll("button");
  const answer = ask(question, {
    source: at("source").value, kernel: at("kernel").value.trim(), arguments: at("arguments").value,
    target: at("target").value,
  });
  buttons.forEach((button) => { button.disabled = true; });
  at("output").textContent = "...";
  at("output").textContent = (await answer) || "(nothing was printed)";
  buttons.forEach((button) => { button.disabled = false; });
};

const choose = async () => {
  const source = await (await fetch(`samples/${at("sample").value}.py`)).text();
  at("arguments").value = /^# arguments: (.*)$/m.exec(source)[1];
  at("source").value = source.replace(/^# arguments: .*\n/, "");
};

document.querySelectorAll("button").forEach((button) => button.addEventListener("click", () => show(button.value)));
at("sample").addEventListener("change", choose);
// Tab leaves the text, as everywhere; Ctrl+Enter asks for the Tile IR.
at("source").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) show("ir");
});
choose();
ask("versions").then((text) => { at("versions").textContent = text; });
