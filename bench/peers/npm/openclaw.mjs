// OpenClaw's QuickJS code mode executor, driven as its agent drives it: a worker thread, a quickjs-wasi instance for
// each cell, and the whole linear memory as the snapshot at every tool call.
import { now, each, expect, serve } from './protocol.mjs';

const { codeModeExecutor: executor } = await import(
  new URL('./node_modules/openclaw/dist/extensions/code-mode-quickjs/code-mode-executor-api.js', import.meta.url)
);
const config = {
  timeoutMs: 10_000, memoryLimitBytes: 64 << 20, maxOutputBytes: 64 << 10, maxSnapshotBytes: 10 << 20,
  maxPendingToolCalls: 16, snapshotTtlSeconds: 900,
};
const options = { timeoutMs: 15_000 };
const catalogs = new Map();

function catalogOf(tools) {
  if (!catalogs.has(tools)) {
    catalogs.set(tools, Array.from({ length: tools }, (_, i) => ({
      callableName: `tool_${i}`, toolName: `tool_${i}`, name: `tool_${i}`, id: `openclaw:core:tool_${i}`,
      description: `Does thing ${i}`, source: 'openclaw', input: '{ q: string }',
    })));
  }
  return catalogs.get(tools);
}

const begin = (source, tools) =>
  executor.execute({ kind: 'exec', source, config, catalog: catalogOf(tools), namespaces: [], apiFiles: [] }, options);

function proceed(state) {
  const settledRequests = state.pendingRequests.map((p) => ({ id: p.id, ok: true, json: '{"n":41}' }));
  return state.continuation.resume({ kind: 'resume', config, settledRequests, pendingRequests: [] }, options);
}

async function run(source, tools) {
  let state = await begin(source, tools);
  while (state.status === 'waiting') state = await proceed(state);
  if (state.status !== 'completed') throw new Error(JSON.stringify(state).slice(0, 300));
  return JSON.parse(state.value.json);
}

await serve({ peer: 'openclaw', engine: 'quickjs-wasi in a worker thread', sizes: [20, 500] }, {
  first: '',
  start: '',
  suspend: 'its snapshot is the whole linear memory and stays in the process',
  calls: 'every call suspends the cell and restores it; at most 16 at once',
  compute: '',
}, {
  async first() { return run('return 1+2', 20); },
  start: ({ n, tools, code }) => each(n, async () => expect(await run(code, tools), 3)),
  async suspend({ n, tools, code }) {
    const ns = [], resume = [];
    let bytes = 0;
    for (let i = 0; i < n; i++) {
      let start = now();
      const state = await begin(code, tools);
      ns.push(now() - start);
      expect(state.status, 'waiting');
      bytes = state.continuation.retainedBytes;
      start = now();
      const last = await proceed(state);
      resume.push(now() - start);
      expect(JSON.parse(last.value.json), 42);
    }
    return { ns, resume, bytes };
  },
  calls: ({ n, tools, code, value }) => each(n, async () => expect(await run(code, tools), value)),
  async compute({ n, code, kernel }) {
    let value;
    const result = await each(n, async () => { value = await run(`${code}\nreturn kernels.${kernel}();`, 20); });
    return { ...result, value: String(value) };
  },
});
