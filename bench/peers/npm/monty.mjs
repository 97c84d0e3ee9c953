// @pydantic/monty: a subset of Python in native code. Its cells are in Python; there is no sandbox of WebAssembly.
import { Monty, MontySnapshot } from '@pydantic/monty';
import { now, each, expect, serve } from './protocol.mjs';

function run(code) {
  let state = new Monty(code).start();
  while (state instanceof MontySnapshot) state = state.resume({ returnValue: 41 });
  return state.output;
}

await serve({ peer: 'monty', package: '@pydantic/monty', engine: 'native Python subset', style: 'python' }, {
  first: 'Python',
  start: 'Python, native code, no catalog, no limits on memory',
  suspend: 'Python, native code',
  calls: 'Python, native code',
}, {
  async first() { return run('1+2'); },
  start: ({ n, code }) => each(n, async () => expect(run(code), 3)),
  async suspend({ n, code }) {
    const ns = [], resume = [];
    let bytes = 0;
    for (let i = 0; i < n; i++) {
      let start = now();
      const stored = new Monty(code).start().dump();
      ns.push(now() - start);
      bytes = stored.byteLength;
      start = now();
      const last = MontySnapshot.load(stored).resume({ returnValue: 41 });
      resume.push(now() - start);
      expect(last.output, 42);
    }
    return { ns, resume, bytes };
  },
  calls: ({ n, code, value }) => each(n, async () => expect(run(code), value)),
});
