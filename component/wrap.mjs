// Makes a WebAssembly component of the finished guest module and JavaScript of the component:
//
//   node wrap.mjs [--guest guest.wasm] [--wit codemode.wit] [--out out]
//
// Nothing is adapted: the module goes in as it is, and componentNew refuses one whose imports or exports are not those
// that the canonical ABI makes of the WIT.

import { componentEmbed, componentNew, transpile } from "@bytecodealliance/jco";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const { values: options } = parseArgs({
  options: {
    guest: { type: "string", default: here("../quickjs/guest/guest.wasm") },
    wit: { type: "string", default: here("../wit/codemode.wit") },
    out: { type: "string", default: here("out") },
  },
});

/** What the component tools throw is a string or an object, not always an Error. */
async function step(what, work) {
  try {
    return await work();
  } catch (error) {
    const said = error?.payload ?? error?.message ?? error;
    console.error(`wrap: ${what}: ${typeof said === "string" ? said : JSON.stringify(said)}`);
    process.exit(1);
  }
}

const module = await step("the guest (make guest builds it)", () => readFile(options.guest));
const witSource = await step("the WIT", () => readFile(options.wit, "utf8"));

// The WIT's text goes in rather than its path: jco's reading of paths fails on Node 20.
const embedded = await step("embedding the WIT", () => componentEmbed({ binary: module, witSource, world: "guest" }));
const component = await step("the guest is not the component that the WIT describes", () => componentNew(embedded, []));
// instantiation: "async" lets run.mjs hand over a bridge of its own for each instance, which is one cell.
const { files } = await step("transpiling", () => transpile(component, { name: "guest", instantiation: "async" }));

for (const [name, bytes] of [...Object.entries(files), ["guest.component.wasm", component]]) {
  const path = join(options.out, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
}
