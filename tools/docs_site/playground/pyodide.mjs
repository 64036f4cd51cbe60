// Pyodide with Tilewright in it, in a browser's worker and under Node alike.

const SITE = "/lib/python3.14/site-packages";

// `load`: Pyodide's loadPyodide; `read`: the bytes of a file of this folder; `manifest`: what build.py wrote.
export async function start(load, read, manifest, options) {
  const python = await load(options);
  for (const name of [...manifest.pure, ...manifest.binary]) {
    python.unpackArchive(await read(`wheels/${name}`), name.endsWith(".whl") ? "wheel" : "zip", { extractDir: SITE });
  }
  const session = python.pyimport("session");
  return (question, program = {}) => session.answer(
    question, program.source ?? "", program.kernel ?? "", program.arguments ?? "", program.target ?? "sm_90a");
}
