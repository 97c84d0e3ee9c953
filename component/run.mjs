// Runs one cell in the component that wrap.mjs made, and prints what came of it as one line of JSON:
//
//   node run.mjs [--seed N] [--reseed N] [--timeout MS] [CODE]
//
// --reseed is a seed that Math.random gets before the first answer is delivered, as a host does it after a restore.
// Exit status: 0 the cell completed, 1 it failed.

import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { Bridge } from "./bridge.mjs";
import { instantiate } from "./out/guest.js";

const DEFAULT = `
text("adding");
const sum = await tools.add({ a: 1, b: 2 });
json({ sum });
return sum * 10;`;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    reseed: { type: "string" },
    timeout: { type: "string", default: "10000" },
  },
});
const source = positionals[0] ?? DEFAULT;

const compile = async (file) => WebAssembly.compile(await readFile(new URL(`out/${file}`, import.meta.url)));
const bridge = new Bridge(Number(options.timeout));
const { cell } = await instantiate(compile, { "codemode:host/bridge": bridge.imports() });

const result = { status: "failed", output: bridge.output, calls: bridge.calls, states: [] };
const note = (outcome) => {
  result.states.push(outcome.state);
  return outcome;
};

try {
  // V8's own stack is smaller than wasmtime's can be made, so JavaScript in the guest may recurse less deeply here.
  let outcome = note(cell.run(source, { seed: BigInt(options.seed), stackLimit: 128 << 10, valueLimit: 1 << 20 }));
  if (options.reseed !== undefined) cell.reseed(BigInt(options.reseed));
  while (outcome.state === "pending" && bridge.waits) {
    const { id, ok, payload } = await bridge.answer();
    outcome = note(cell.settle(id, ok, payload));
  }
  const payload = outcome.payload === "" || outcome.truncated ? outcome.payload : JSON.parse(outcome.payload);
  if (outcome.state === "pending") result.error = { message: "the cell waits for nothing that can come" };
  else if (outcome.state === "stopped") result.error = { message: "stopped", stack: cell.position() };
  else if (outcome.state === "rejected") result.error = payload;
  else if (outcome.rejections > 0) result.error = { message: "unhandled rejection", rejections: JSON.parse(cell.rejections()) };
  else Object.assign(result, { status: "completed", value: payload });
} catch (error) {
  result.error = { message: String(error?.message ?? error), trap: true };
  try {
    result.error.position = cell.position();
  } catch {
    // After a trap it may trap again.
  }
} finally {
  bridge.close();
}
console.log(JSON.stringify(result));
process.exitCode = result.status === "completed" ? 0 : 1;
