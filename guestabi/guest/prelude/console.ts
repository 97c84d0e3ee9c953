// console: plain text for the model, one entry a call, without running code of the cell (no getters, no toString, no
// toJSON), and bounded: a cell that logs a large object must not spend the model's context on it.

const MAX_VALUES = 100; // visited values a call
const MAX_FIELDS = 50; // properties of one object
const MAX_DEPTH = 4;
const MAX_STRING = 512; // UTF-16 units of one string or key
const MAX_MESSAGE = 4096; // UTF-16 units of one entry
const MAX_TOTAL = 16384; // UTF-16 units of all entries of a cell
const CUT = "…[truncated]";

const { apply, getOwnPropertyDescriptor, ownKeys } = Reflect;
const { create, defineProperty, freeze } = Object;
const { isArray } = Array;
const StringOf = String;
const slice = String.prototype.slice;
const stringify = JSON.stringify;
const mapEntries = Map.prototype.entries;
const setValues = Set.prototype.values;
const mapNext = Object.getPrototypeOf(new Map().entries()).next;
const setNext = Object.getPrototypeOf(new Set().values()).next;
const isoString = Date.prototype.toISOString;
const sizeOfMap = getOwnPropertyDescriptor(Map.prototype, "size")!.get!;
const sizeOfSet = getOwnPropertyDescriptor(Set.prototype, "size")!.get!;
const symbolText = Symbol.prototype.toString;
const regexpSource = getOwnPropertyDescriptor(RegExp.prototype, "source")!.get!;
const now = Date.now;

const cut = (text: string, most: number): string => (text.length > most ? apply(slice, text, [0, most]) + CUT : text);

/** Whether a method of a built-in class accepts the value, which says that it is of that class. */
function brand(method: Function, value: unknown): unknown {
  try {
    return apply(method, value, []);
  } catch {
    return undefined;
  }
}

function own(object: object, name: string): unknown {
  const d = getOwnPropertyDescriptor(object, name);
  return d && "value" in d ? d.value : undefined;
}

class Inspector {
  private left = MAX_VALUES;
  private path: object[] = [];

  show(value: unknown, top: boolean): string {
    if (this.left-- <= 0) return "[truncated]";
    switch (typeof value) {
      case "string":
        return top ? cut(value, MAX_MESSAGE) : stringify(cut(value, MAX_STRING));
      case "bigint":
        return StringOf(value) + "n";
      case "symbol":
        return apply(symbolText, value, []);
      case "function":
        return "[Function" + (own(value, "name") ? " " + cut(StringOf(own(value, "name")), MAX_STRING) : "") + "]";
      case "object":
        return value === null ? "null" : this.object(value);
      default:
        return value === 0 && 1 / value < 0 ? "-0" : StringOf(value);
    }
  }

  private object(value: object): string {
    for (let i = 0; i < this.path.length; i++) if (this.path[i] === value) return "[Circular]";
    if (this.path.length >= MAX_DEPTH) return isArray(value) ? "[Array]" : "[Object]";
    defineProperty(this.path, this.path.length, { __proto__: null, value, configurable: true, writable: true } as PropertyDescriptor);
    try {
      return this.nested(value);
    } catch {
      return "[Unserializable]"; // a proxy whose traps throw
    } finally {
      this.path.length--;
    }
  }

  private nested(value: object): string {
    const date = brand(isoString, value);
    if (date !== undefined) return date as string;
    if (brand(sizeOfMap, value) !== undefined) {
      let text = "Map {";
      const it = apply(mapEntries, value, []);
      for (let i = 0, step; !(step = apply(mapNext, it, [])).done; i++) {
        if (i) text += ", ";
        if (i >= MAX_FIELDS) return text + "…}";
        text += this.show(step.value[0], false) + " => " + this.show(step.value[1], false);
      }
      return text + "}";
    }
    if (brand(sizeOfSet, value) !== undefined) {
      let text = "Set {";
      const it = apply(setValues, value, []);
      for (let i = 0, step; !(step = apply(setNext, it, [])).done; i++) {
        if (i) text += ", ";
        if (i >= MAX_FIELDS) return text + "…}";
        text += this.show(step.value, false);
      }
      return text + "}";
    }
    if (value instanceof PromiseOf) return "[promise that was not awaited]";
    if (isArray(value)) return this.fields(value, "[", "]");
    const message = own(value, "message");
    if (typeof message === "string" && typeof own(value, "stack") === "string") {
      let name: unknown;
      for (let at: object | null = value, i = 0; at && name === undefined && i < 8; i++, at = getPrototypeOf(at)) name = own(at, "name");
      return cut((typeof name === "string" ? name : "Error") + ": " + message, MAX_STRING);
    }
    if (isRegExp(value)) return "/" + cut(StringOf(apply(regexpSource, value, [])), MAX_STRING) + "/";
    return this.fields(value, "{", "}");
  }

  private fields(value: object, open: string, close: string): string {
    const list = open === "[";
    const names = ownKeys(value);
    let text = open;
    let shown = 0;
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      if (typeof name !== "string" || (list && name === "length")) continue;
      const d = getOwnPropertyDescriptor(value, name);
      if (!d || !d.enumerable) continue;
      if (shown) text += ",";
      if (shown >= MAX_FIELDS) return text + "…" + close;
      shown++;
      if (!list) text += stringify(cut(name, MAX_STRING)) + ":";
      text += "value" in d ? this.show(d.value, false) : "[Accessor]";
    }
    return text + close;
  }
}

const PromiseOf = Promise;
const { getPrototypeOf } = Object;
const isRegExp = (value: object): boolean => value !== RegExp.prototype && brand(regexpSource, value) !== undefined;

export function makeConsole(text: (value: unknown) => void): object {
  let spent = 0;
  let indent = "";
  const counts = create(null) as Record<string, number>;
  const timers = create(null) as Record<string, number>;

  function write(message: string): void {
    if (spent > MAX_TOTAL) return;
    message = indent + cut(message, MAX_MESSAGE);
    spent += message.length;
    if (spent > MAX_TOTAL) message = "[console output truncated]";
    text(message);
  }

  function format(args: unknown[]): string {
    const inspector = new Inspector();
    let message = "";
    for (let i = 0; i < args.length && message.length <= MAX_MESSAGE; i++) message += (i ? " " : "") + inspector.show(args[i], true);
    return message;
  }

  const label = (name: unknown): string => (name === undefined ? "default" : cut(StringOf(name), MAX_STRING));

  /** Rows of objects or arrays as tab-separated lines with a heading. */
  function table(rows: unknown): string {
    if (typeof rows !== "object" || rows === null) return format([rows]);
    const columns: string[] = [];
    const known = create(null) as Record<string, boolean>;
    const index = ownKeys(rows);
    const lines: { name: string; row: unknown }[] = [];
    for (let i = 0; i < index.length && lines.length < MAX_FIELDS; i++) {
      const name = index[i];
      const d = typeof name === "string" ? getOwnPropertyDescriptor(rows, name) : undefined;
      if (!d || !d.enumerable || !("value" in d)) continue;
      lines[lines.length] = { name: name as string, row: d.value };
      if (typeof d.value !== "object" || d.value === null) continue;
      const cells = ownKeys(d.value);
      for (let k = 0; k < cells.length && columns.length < MAX_FIELDS; k++) {
        const cell = cells[k];
        if (typeof cell !== "string" || known[cell] || (isArray(d.value) && cell === "length")) continue;
        known[cell] = true;
        columns[columns.length] = cell;
      }
    }
    const inspector = new Inspector();
    let out = "(index)";
    for (let c = 0; c < columns.length; c++) out += "\t" + cut(columns[c], MAX_STRING);
    for (let i = 0; i < lines.length; i++) {
      const row = lines[i].row;
      out += "\n" + lines[i].name;
      if (typeof row !== "object" || row === null) {
        out += "\t" + inspector.show(row, false);
        continue;
      }
      for (let c = 0; c < columns.length; c++) {
        const d = getOwnPropertyDescriptor(row, columns[c]);
        out += "\t" + (!d ? "" : "value" in d ? inspector.show(d.value, false) : "[Accessor]");
      }
    }
    return out;
  }

  const methods: Record<string, (...args: unknown[]) => void> = {
    log: (...args) => write(format(args)),
    info: (...args) => write("[info] " + format(args)),
    warn: (...args) => write("[warn] " + format(args)),
    error: (...args) => write("[error] " + format(args)),
    debug: (...args) => write("[debug] " + format(args)),
    trace: (...args) => write("[trace] " + format(args)),
    dir: (value) => write(format([value])),
    table: (rows) => write(table(rows)),
    assert: (condition, ...args) => {
      if (!condition) write("[assert] " + (args.length ? format(args) : "assertion failed"));
    },
    count: (name) => write(label(name) + ": " + (counts[label(name)] = (counts[label(name)] || 0) + 1)),
    countReset: (name) => void (counts[label(name)] = 0),
    time: (name) => void (timers[label(name)] = now()),
    timeEnd: (name) => {
      const started = timers[label(name)];
      write(started === undefined ? `[warn] no timer "${label(name)}"` : label(name) + ": " + (now() - started) + " ms");
      delete timers[label(name)];
    },
    group: (...args) => {
      if (args.length) write(format(args));
      if (indent.length < 40) indent += "  ";
    },
    groupEnd: () => void (indent = apply(slice, indent, [2])),
  };
  const console = create(null);
  const names = ownKeys(methods) as string[];
  for (let i = 0; i < names.length; i++)
    defineProperty(console, names[i], { __proto__: null, value: freeze(methods[names[i]]), enumerable: true } as PropertyDescriptor);
  return freeze(console);
}
