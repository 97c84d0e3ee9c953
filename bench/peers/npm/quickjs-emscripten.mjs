// npm quickjs-emscripten in this process: a new runtime and context for each cell, in one WebAssembly instance.
import { getQuickJS } from 'quickjs-emscripten';
import { each, expect, serve } from './protocol.mjs';

const engine = await getQuickJS();

async function run(code) {
  const runtime = engine.newRuntime();
  runtime.setMemoryLimit(64 << 20);
  runtime.setInterruptHandler(() => false);
  const vm = runtime.newContext();
  const asked = [];
  try {
    vm.newFunction('tool_0', (input) => {
      vm.dump(input);
      const promise = vm.newPromise();
      asked.push(promise);
      promise.settled.then(() => runtime.alive && runtime.executePendingJobs());
      return promise.handle;
    }).consume((f) => vm.setProp(vm.global, 'tool_0', f));
    const started = vm.unwrapResult(vm.evalCode(`(async () => {${code}\n})()`));
    runtime.executePendingJobs();
    let state;
    while ((state = vm.getPromiseState(started)).type === 'pending' && asked.length > 0) {
      for (const promise of asked.splice(0)) {
        const value = vm.newObject();
        vm.newNumber(41).consume((n) => vm.setProp(value, 'n', n));
        promise.resolve(value);
        value.dispose();
        promise.dispose();
      }
      runtime.executePendingJobs();
    }
    started.dispose();
    if (state.type !== 'fulfilled') throw new Error(`a cell is ${state.type}`);
    return state.value.consume(vm.dump);
  } finally {
    vm.dispose();
    runtime.dispose();
  }
}

await serve({ peer: 'quickjs-emscripten', engine: 'QuickJS in wasm under V8' }, {
  first: '',
  start: 'no catalog, no transpiler; cells share one wasm memory; no snapshots',
  calls: 'tools answer in the same tick',
  compute: '',
}, {
  first: () => run('return 1+2'),
  start: ({ n, code }) => each(n, async () => expect(await run(code), 3)),
  calls: ({ n, code, value }) => each(n, async () => expect(await run(code), value)),
  async compute({ n, code, kernel }) {
    let value;
    const times = await each(n, async () => { value = await run(`${code}\nreturn kernels.${kernel}();`); });
    return { ...times, value: String(value) };
  },
});
