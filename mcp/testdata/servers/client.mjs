// A client that nobody here wrote, in front of code mode: the reference SDK for JavaScript. It goes through a whole
// session and prints what it saw as one line of JSON.
//
//   node client.mjs stdio PROGRAM            (the program's environment is this one's)
//   node client.mjs http URL TOKEN
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [kind, target, token] = process.argv.slice(2);

function transport() {
  if (kind === "stdio") return new StdioClientTransport({ command: target, env: process.env, stderr: "inherit" });
  return new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
}

async function connect() {
  const client = new Client({ name: "reference", version: "1" }, { capabilities: {} });
  await client.connect(transport());
  return client;
}

const client = await connect();
const seen = { server: client.getServerVersion().name, progress: 0 };
const listed = await client.listTools(); // from here on the SDK checks results against the output schemas
seen.tools = listed.tools.map((t) => t.name);
seen.bytes = JSON.stringify(listed.tools).length;

const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const exec = async (code, options) => (await call("exec", { code }, options)).structuredContent;

seen.plain = await exec("const n: number = 3; return n * 2");
seen.nested = await exec(`const m = await MCP.memory.createEntities({entities: [{name: "Ada", entityType: "person", observations: ["wrote a program"]}]});
  const g = await MCP.memory.readGraph({}); return {created: m.isError !== true, names: g.structuredContent.entities.map((e) => e.name)}`);
const waiting = await exec(`text("one"); await yield_control(); return "two"`);
seen.waiting = waiting.status;
seen.waited = (await call("wait", { runId: waiting.runId })).structuredContent;
seen.slow = await exec(`await new Promise((r) => setTimeout(r, 1500)); return "slept"`, { onprogress: () => seen.progress++ });

const stop = new AbortController();
setTimeout(() => stop.abort("enough"), 300);
try {
  await call("exec", { code: "await new Promise((r) => setTimeout(r, 5000))" }, { signal: stop.signal });
  seen.cancelled = "no";
} catch (e) {
  seen.cancelled = "yes";
}
seen.unknown = (await call("wait", { runId: "cm_00000000-0000-0000-0000-000000000000" })).structuredContent.code;
if (kind === "http") {
  const other = await connect();
  const parked = await exec("await yield_control(); return 1");
  seen.foreign = (await other.callTool({ name: "wait", arguments: { runId: parked.runId } })).structuredContent.code;
  await other.close();
}
await client.close();
console.log(JSON.stringify(seen));
