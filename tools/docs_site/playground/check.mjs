// What make playground runs at its end: the same files under Node, with the questions that the page asks.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const folder = resolve(process.argv[2]);
const at = (name) => pathToFileURL(`${folder}/${name}`).href;
const { loadPyodide } = await import(at("pyodide/pyodide.mjs"));
const { start } = await import(at("pyodide.mjs"));
const manifest = JSON.parse(readFileSync(`${folder}/manifest.json`));
const read = async (name) => new Uint8Array(readFileSync(`${folder}/${name}`));
const ask = await start(loadPyodide, read, manifest, { indexURL: `${folder}/pyodide/` });

let failed = 0;
const expect = (what, text, pattern) => {
  const good = pattern.test(text);
  failed += !good;
  console.log(`${good ? "ok  " : "FAIL"} ${what}${good ? "" : `:\n${text}`}`);
};

console.log(ask("versions"));
for (const name of ["add", "softmax", "matmul"]) {
  const text = readFileSync(`${folder}/samples/${name}.py`, "utf8");
  const program = { source: text, arguments: /^# arguments: (.*)$/m.exec(text)[1] };
  expect(`Tile IR of ${name}`, ask("ir", program), new RegExp(`^func @${name}\\(.*[\\s\\S]*store\\(array=`));
  expect(`decisions of ${name}`, ask("decisions", program), /^target: sm_90a\n[\s\S]*^num_warps: \d+ \(/m);
  const printed = ask("run", program);
  if (manifest.missing.length) expect(`${name} says what is missing`, printed, /No module named 'numpy'/);
  else expect(`${name} runs`, printed, { add: /1000\.0/, softmax: /^\[1\. 1\. /, matmul: /80\.0 80\.0/ }[name]);
}
const wrong = readFileSync(`${folder}/samples/add.py`, "utf8");
expect("a mistake", ask("ir", { source: wrong, arguments: "f32[1000], f32[1000], f32[1000], 100" }),
  /the lengths of a tile are powers of two[\s\S]*program\.py[\s\S]*hint: take 128/);
console.log(manifest.missing.length ? `not run, for want of ${manifest.missing.join(" and ")}: the samples themselves` : "all was run");
process.exitCode = failed ? 1 : 0;
