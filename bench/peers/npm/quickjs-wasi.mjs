// npm quickjs-wasi in this process: a new WebAssembly instance for each cell, compiled once.
import { readFileSync } from 'node:fs';
import { QuickJS } from 'quickjs-wasi';
import { now, each, expect, serve } from './protocol.mjs';

const wasm = new WebAssembly.Module(readFileSync(new URL('./node_modules/quickjs-wasi/quickjs.wasm', import.meta.url)));
const limits = { wasm, memoryLimit: 64 << 20, interruptHandler: () => false };

// The cell's result is left in a global, because a handle to its promise does not survive a snapshot.
const wrap = (code) => `globalThis.done = undefined; globalThis.settle = [];
(async () => {${code}\n})().then((v) => { done = JSON.stringify(v); }, (e) => { done = 'error ' + e; });`;
const promised = 'globalThis.tool_0 = (input) => new Promise((resolve) => { settle.push(resolve); host_call(JSON.stringify(input)); });';

function evaluate(vm, code) {
  vm.evalCode(code).dispose();
  vm.executePendingJobs();
}

function result(vm) {
  const handle = vm.evalCode('done');
  const value = vm.dump(handle);
  handle.dispose();
  return value;
}

let asked = 0;
const hostCall = (vm) => (input) => {
  JSON.parse(input.toString());
  asked++;
  return vm.undefined;
};

async function create() {
  asked = 0;
  const vm = await QuickJS.create(limits);
  const f = vm.newFunction('host_call', hostCall(vm));
  vm.setProp(vm.global, 'host_call', f);
  f.dispose();
  vm.evalCode(promised).dispose();
  return vm;
}

async function run(code) {
  const vm = await create();
  try {
    evaluate(vm, wrap(code));
    let value;
    while ((value = result(vm)) === undefined && asked > 0) {
      asked = 0;
      evaluate(vm, 'for (const f of settle.splice(0)) f({"n":41});');
    }
    return value;
  } finally {
    vm.dispose();
  }
}

await serve({ peer: 'quickjs-wasi', engine: 'QuickJS-NG in wasm under V8' }, {
  first: '',
  start: 'no catalog, no transpiler, no limits on output; a memory limit and an interrupt handler',
  suspend: 'its snapshot is the whole linear memory, not packed',
  calls: 'tools answer in the same tick',
  compute: '',
}, {
  first: () => run('return 1+2'),
  start: ({ n, code }) => each(n, async () => expect(await run(code), 3)),
  async suspend({ n, code }) {
    const ns = [], resume = [];
    let bytes = 0;
    for (let i = 0; i < n; i++) {
      let start = now();
      const vm = await create();
      evaluate(vm, wrap(code));
      const stored = QuickJS.serializeSnapshot(vm.snapshot());
      vm.dispose();
      ns.push(now() - start);
      bytes = stored.byteLength;
      start = now();
      const back = await QuickJS.restore(QuickJS.deserializeSnapshot(stored), limits);
      back.registerHostCallback('host_call', hostCall(back));
      evaluate(back, 'for (const f of settle.splice(0)) f({"n":41});');
      const value = result(back);
      back.dispose();
      resume.push(now() - start);
      expect(value, 42);
    }
    return { ns, resume, bytes };
  },
  calls: ({ n, code, value }) => each(n, async () => expect(await run(code), value)),
  async compute({ n, code, kernel }) {
    let value;
    const times = await each(n, async () => { value = await run(`${code}\nreturn kernels.${kernel}();`); });
    return { ...times, value: String(value) };
  },
});
