// Python runs here, beside the page, which stays usable meanwhile.
import { loadPyodide } from "./pyodide/pyodide.mjs";
import { start } from "./pyodide.mjs";

const read = async (name) => {
  const answer = await fetch(name);
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
};

const begun = (async () => {
  const manifest = await (await fetch("manifest.json")).json();
  return start(loadPyodide, read, manifest, { indexURL: new URL("pyodide/", import.meta.url).href });
})();

onmessage = async ({ data }) => {
  try {
    const ask = await begun;
    postMessage({ number: data.number, text: ask(data.question, data.program) });
  } catch (error) {
    postMessage({ number: data.number, text: `The playground could not start: ${error.message}` });
  }
};
