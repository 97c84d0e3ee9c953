// npm run: a worker thread with a QuickJS for each cell. A cell that waits is thrown away; to go on it is run again from
// its start, with the answers it got before.
import { createRunner, getHostFunctionContext } from 'run';
import { now, each, expect, serve } from './protocol.mjs';

const runner = createRunner({ continuationSecret: 'a secret of the bench, thirty-two bytes or more of it' });
const tools = { tools: { tool_0: async () => ({ n: 41 }) } };
const waiting = {
  tools: {
    tool_0: async () => {
      const { interrupt, resume } = getHostFunctionContext();
      if (resume === undefined) interrupt({ kind: 'wait' });
      return resume.resolution;
    },
  },
};
const bare = (code) => `const tool_0 = tools.tool_0;\n${code}`;

async function run(source) {
  const result = await runner.run({ source: bare(source), hostFunctions: tools });
  if (result.status !== 'completed') throw new Error(JSON.stringify(result).slice(0, 300));
  return result.value;
}

await serve({ peer: 'run', engine: 'QuickJS in wasm in a worker thread' }, {
  first: '',
  start: 'no catalog',
  suspend: 'no snapshot: the cell is run again from its start with the answers so far',
  calls: '',
  compute: '',
}, {
  first: () => run('return 1+2'),
  start: ({ n, code }) => each(n, async () => expect(await run(code), 3)),
  async suspend({ n, code }) {
    const ns = [], resume = [];
    let bytes = 0;
    for (let i = 0; i < n; i++) {
      const common = { source: bare(code), hostFunctions: waiting };
      let start = now();
      const first = await runner.run(common);
      ns.push(now() - start);
      expect(first.status, 'interrupted');
      bytes = JSON.stringify(first.continuation).length;
      const resolutions = first.interruptions.map((i) => ({ interruptionId: i.id, value: { n: 41 } }));
      start = now();
      const last = await runner.run({ ...common, continuation: first.continuation, resolutions });
      resume.push(now() - start);
      expect(last.value, 42);
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
