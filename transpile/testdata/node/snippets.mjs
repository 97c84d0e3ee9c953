// Runs snippets as differential_test.go asks, one after the other, each in a context of its own. Standard input is a JSON
// list of {source, typescript, prepared, ours: {line, column}}; standard output gets an outcome for each:
//
//   {value}                              it completed
//   {error, message, frames}             an error was thrown; frames are those in the snippet, innermost first
//   {error: "", thrown}                  something else was thrown, as JSON if it is an object, or else as text
//   {error: "SyntaxError", line, column} it cannot be read; no line where Node points at what is around the snippet
//   {error: "pending"}                   it waits for what never comes
//
// `same` says how near to Node's place `ours` is; see nearness. Started with --expose-internals for Node's own acorn.
//
// A snippet is evaluated as codemode evaluates a cell: as the body of an async arrow function in sloppy mode, in a global
// scope that is its own. What Node does not do is added here, without a look at how transpile does it: the last expression
// is returned. TypeScript is stripped or compiled by Node. A snippet that is `prepared` is what transpile made of a text
// with which it took other liberties: a fence, a function that is called.
import { createRequire, stripTypeScriptTypes, SourceMap } from "node:module";
import vm from "node:vm";

const acorn = createRequire(import.meta.url)("internal/deps/acorn/acorn/dist/acorn");
const lineBreak = /\r\n|[\n\r\u2028\u2029]/;
const head = "(async () => {\n", tail = "\n})";

let rejected = new Map();
process.on("unhandledRejection", (reason, promise) => rejected.set(promise, reason));
process.on("uncaughtException", (reason) => rejected.set({}, reason)); // in a microtask
process.on("rejectionHandled", (promise) => rejected.delete(promise));

async function run({ source, typescript, prepared, ours }) {
  rejected = new Map();
  let code = { text: source };
  try {
    if (typescript) code = strip(source);
  } catch (e) {
    const { line, column } = refusal(String(e.stack));
    return { error: "SyntaxError", message: e.message, ...within(source, { line: line - 1, column }) };
  }
  const tree = parse(code.text);
  const at = tree && !prepared ? lastExpression(tree) : -1;
  const text = at < 0 ? code.text : code.text.slice(0, at) + "return " + code.text.slice(at);

  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY);
  context.Error.stackTraceLimit = 100;
  context.queueMicrotask = queueMicrotask;
  context.yield_control = async () => {};
  let body;
  try {
    const script = new vm.Script(head + text + tail, { filename: "cell", lineOffset: -1 });
    (async () => {}).constructor(text); // refuses what closes the function and opens another
    body = script.runInContext(context);
  } catch (e) {
    const place = back(refusal(String(e.stack)), text, at, code);
    return { error: String(e.name), message: e.message, ...within(source, place) };
  }
  let outcome;
  try {
    const pending = Symbol("pending");
    const value = await Promise.race([body(), idle().then(() => pending)]);
    outcome = value === pending ? { error: "pending" } : { value: json(value) };
  } catch (e) {
    outcome = thrown(e);
  }
  await idle();
  for (const reason of rejected.values()) if (!("error" in outcome)) outcome = thrown(reason);
  if (outcome.frames?.length) {
    outcome.frames = outcome.frames.map((frame) => ({ ...frame, ...back(frame, text, at, code) }));
    if (ours) outcome.same = nearness(code.map || prepared ? undefined : tree, code.text, outcome.frames[0], ours);
  }
  return outcome;
}

// --- source ---

// strip reads a snippet as a module, where namespaces may be, and if that fails as a function, where return may be.
function strip(source) {
  try {
    return { text: stripTypeScriptTypes(source) };
  } catch (e) {
    if (e.code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") return transform(source);
  }
  return { text: stripTypeScriptTypes(head + source + tail).slice(head.length, -tail.length) };
}

// Enums, namespaces and parameter properties. The map is the last line.
function transform(source) {
  let code, skip = 0;
  try {
    code = stripTypeScriptTypes(source, { mode: "transform", sourceMap: true });
  } catch {
    code = stripTypeScriptTypes(head + source + tail, { mode: "transform", sourceMap: true });
    skip = 1;
  }
  const url = code.lastIndexOf("//# sourceMappingURL=");
  const map = JSON.parse(Buffer.from(code.slice(code.indexOf(",", url) + 1), "base64"));
  code = code.slice(0, url).trimEnd();
  if (skip) code = code.slice(code.indexOf("\n") + 1, code.lastIndexOf("}"));
  return { text: code, map: new SourceMap(map), skip };
}

function parse(text) {
  try {
    return acorn.parse(head + text + tail, { ecmaVersion: "latest", locations: true });
  } catch {
    return undefined;
  }
}

function lastExpression(tree) {
  const silent = (s) => s.type === "FunctionDeclaration" || s.type === "EmptyStatement" ||
    (s.kind === "var" && s.declarations.every((d) => !d.init)); // what transform adds for a namespace
  const last = tree.body[0].expression.body.body.findLast((s) => !silent(s));
  if (last?.type !== "ExpressionStatement" || last.directive === "use strict") return -1;
  return last.start - head.length;
}

// --- values: what codemode documents of a completion value as JSON ---

function json(value) {
  const path = [];
  const write = (v, asked) => {
    if (typeof v === "bigint") return String(v);
    if (typeof v === "number") return Number.isFinite(v) ? v : null;
    if (typeof v === "function") return typeof v.toJSON === "function" ? write(v.toJSON(""), true) : undefined;
    if (typeof v !== "object" || v === null) return typeof v === "symbol" ? undefined : v;
    const kind = Object.prototype.toString.call(v).slice(8, -1);
    if (kind === "Promise") return "[promise that was not awaited: use await or Promise.all]";
    if (!asked && typeof v.toJSON === "function") return write(v.toJSON(""), true);
    if (kind === "Number" || kind === "String" || kind === "Boolean" || kind === "BigInt") return write(v.valueOf());
    if (path.includes(v)) return "[circular]";
    path.push(v);
    const plain = members(v, kind);
    path.pop();
    return plain;
  };
  const list = (items) => Array.from(items, (item) => write(item) ?? null);
  const members = (v, kind) => {
    if (Array.isArray(v)) return list(v);
    if (kind === "Map") {
      const pairs = [...v];
      if (!pairs.every(([key]) => typeof key === "string")) return list(pairs);
      return Object.fromEntries(pairs.map(([key, item]) => [key, write(item) ?? null]));
    }
    if (kind === "Set") return list(v);
    if (ArrayBuffer.isView(v) && kind !== "DataView") return list(v);
    if (kind === "ArrayBuffer") return list(new Uint8Array(v));
    if (kind === "RegExp") return String(v);
    const object = {};
    const put = (key, item) => {
      const plain = write(item);
      if (plain !== undefined) Object.defineProperty(object, key, { value: plain, enumerable: true, configurable: true, writable: true });
    };
    if (kind === "Error") for (const key of ["name", "message"]) if (typeof v[key] === "string") put(key, v[key]);
    for (const key of Object.keys(v)) put(key, v[key]);
    return object;
  };
  return write(value) ?? null;
}

// --- errors ---

const isError = (v) => Object.prototype.toString.call(v) === "[object Error]";

function thrown(e) {
  if (!isError(e)) return { error: "", thrown: typeof e === "object" ? json(e) : String(e) };
  const frames = [...String(e.stack).matchAll(/^ +at (async )?(?:(.*) \()?cell:(\d+):(\d+)\)?$/gm)];
  return {
    error: String(e.name),
    message: String(e.message),
    frames: frames.map((m) => ({ async: m[1] !== undefined, function: m[2] ?? "", line: +m[3], column: +m[4] })),
  };
}

// Where a source cannot be read the stack begins with file and line, then comes that line, then a caret under the column.
function refusal(stack) {
  const m = /^(?:cell)?:(-?\d+)\n(?:.*\n)*?([ \t]*)\^/.exec(stack);
  return m ? { line: +m[1], column: m[2].length + 1 } : { line: 0, column: 0 };
}

const within = (source, place) => (place.line >= 1 && place.line <= source.split(lineBreak).length ? place : {});

// back leads from the text that ran to the snippet.
function back({ line, column }, text, at, code) {
  if (at >= 0) {
    const before = text.slice(0, at).split(lineBreak);
    if (line === before.length && column > before.at(-1).length) {
      column = Math.max(column - "return ".length, before.at(-1).length + 1);
    }
  }
  if (!code.map) return { line, column };
  const entry = code.map.findEntry(line - 1 + code.skip, column - 1);
  return { line: entry.originalLine + 1 - code.skip, column: entry.originalColumn + 1 };
}

// --- places ---

// Engines point at different tokens of one operation. nearness is
//   "exact"      the same line and column
//   "chain"      one line, and one chain of accesses, calls, tags and new: in a.b(c), from a to the parenthesis
//   "statement"  one line and one statement, where an arrow function's expression and a field's value count as one
//   "line"       one line, of a text that was compiled, so that there is no tree of what was submitted
//   ""           none of these
function nearness(tree, text, a, b) {
  if (a.line !== b.line) return "";
  if (a.column === b.column) return "exact";
  if (!tree) return "line";
  const [x, y] = [pathTo(tree, text, a), pathTo(tree, text, b)];
  if (chain(x) === chain(y)) return "chain";
  return statement(x) === statement(y) ? "statement" : "";
}

// pathTo has the nodes around a place, outermost first.
function pathTo(tree, text, { line, column }) {
  const offset = offsetOf(text, line, column) + head.length;
  const path = [];
  const visit = (node) => {
    path.push(node);
    for (const key of Object.keys(node)) {
      for (const child of Array.isArray(node[key]) ? node[key] : [node[key]]) {
        if (typeof child?.type === "string" && child.start <= offset && offset < child.end) return visit(child);
      }
    }
  };
  visit(tree);
  return path;
}

function chain(path) {
  let i = path.length - 1;
  for (; i > 0; i--) {
    const node = path[i], parent = path[i - 1];
    const link = [parent.callee, parent.object, parent.tag].includes(node) || parent.type === "ChainExpression" ||
      (node === parent.property && !parent.computed);
    if (!link) break;
  }
  return path[i];
}

function statement(path) {
  return path.findLast((node, i) => /(Statement|Declaration|PropertyDefinition)$/.test(node.type) ||
    (path[i - 1]?.type === "ArrowFunctionExpression" && node === path[i - 1].body));
}

function offsetOf(text, line, column) {
  const breaks = new RegExp(lineBreak, "g");
  for (let n = 1; n < line; n++) breaks.exec(text);
  return breaks.lastIndex + column - 1;
}

// --- the event loop ---

async function idle() {
  for (let i = 0; i < 3; i++) await new Promise(setImmediate);
}

let input = "";
for await (const chunk of process.stdin) input += chunk;
const outcomes = [];
for (const snippet of JSON.parse(input)) outcomes.push(await run(snippet));
process.stdout.write(JSON.stringify(outcomes), () => process.exit(0));
