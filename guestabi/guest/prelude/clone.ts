// structuredClone, as HTML has it: cycles and shared references stay, prototypes and accessors do not, and what cannot
// be copied is refused with a DataCloneError.

import type { Host } from "./host";
import { Kind } from "./kinds";
import {
  apply, create, DOMExceptionOf, getOwnPropertyDescriptor, getPrototypeOf, isArray, isData, ownKeys, push, put,
  StringOf, Table, TypeErrorOf,
} from "./primordials";

const getter = (object: object, name: PropertyKey): Function => getOwnPropertyDescriptor(object, name)!.get!;

const { getTime } = Date.prototype;
const DateOf = Date;
const RegExpOf = RegExp;
const MapOf = Map;
const SetOf = Set;
const ArrayOf = Array;
const ArrayBufferOf = ArrayBuffer;
const DataViewOf = DataView;
const Bytes = Uint8Array;
const ObjectOf = Object;
const regexpSource = getter(RegExp.prototype, "source");
const regexpFlags = getter(RegExp.prototype, "flags");
const { forEach: mapEach, set: mapSet } = Map.prototype;
const { forEach: setEach, add: setAdd } = Set.prototype;
const typed = getPrototypeOf(Uint8Array.prototype);
const typedName = getter(typed, Symbol.toStringTag);
const typedBuffer = getter(typed, "buffer");
const typedOffset = getter(typed, "byteOffset");
const typedLength = getter(typed, "length");
const typedSet = typed.set;
const viewBuffer = getter(DataView.prototype, "buffer");
const viewOffset = getter(DataView.prototype, "byteOffset");
const viewLength = getter(DataView.prototype, "byteLength");
const bufferLength = getter(ArrayBuffer.prototype, "byteLength");
const bufferDetached = getter(ArrayBuffer.prototype, "detached");
const { transfer: bufferTransfer } = ArrayBuffer.prototype as unknown as { transfer: Function };
const domName = getter(DOMException.prototype, "name");
const domMessage = getter(DOMException.prototype, "message");
const symbolText = Symbol.prototype.toString;
const isEnumerable = Object.prototype.propertyIsEnumerable;

const typedArrays = create(null) as Record<string, new (buffer: ArrayBuffer, offset: number, length: number) => object>;
for (const type of [
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array,
  (globalThis as any).Float16Array, Float32Array, Float64Array,
])
  typedArrays[type.name] = type;

const errors = create(null) as Record<string, new (message?: string) => Error>;
for (const type of [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]) errors[type.name] = type as any;

const refuse = (what: string) => new DOMExceptionOf(what + " could not be cloned", "DataCloneError");

function ownData(object: object, name: string): unknown {
  const d = getOwnPropertyDescriptor(object, name);
  return d && isData(d) ? d.value : undefined;
}

export function makeClone(host: Host) {
  function copyBuffer(buffer: ArrayBuffer): ArrayBuffer {
    if (apply(bufferDetached, buffer, [])) throw refuse("a detached ArrayBuffer");
    const copy = new ArrayBufferOf(apply(bufferLength, buffer, []));
    apply(typedSet, new Bytes(copy), [new Bytes(buffer)]);
    return copy;
  }

  function copyError(value: object, seen: Table<object, object>): object {
    const name = (value as Error).name;
    const type = errors[typeof name === "string" && name in errors ? name : "Error"];
    const copy = new type();
    seen.set(value, copy);
    const message = ownData(value, "message");
    const stack = (value as Error).stack;
    if (message !== undefined) put(copy, "message", StringOf(message), false, true);
    if (typeof stack === "string") put(copy, "stack", stack, false, true);
    if (getOwnPropertyDescriptor(value, "cause")) put(copy, "cause", clone(ownData(value, "cause"), seen), false, true);
    return copy;
  }

  function copyFields(value: object, copy: object, seen: Table<object, object>): object {
    const names = ownKeys(value);
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      if (typeof name !== "string" || !apply(isEnumerable, value, [name])) continue;
      put(copy, name, clone((value as Record<string, unknown>)[name], seen), true, true);
    }
    return copy;
  }

  function clone(value: unknown, seen: Table<object, object>): unknown {
    if (typeof value === "symbol") throw refuse(apply(symbolText, value, []));
    if (typeof value === "function") throw refuse("a function" + (ownData(value, "name") ? ` (${StringOf(ownData(value, "name"))})` : ""));
    if (typeof value !== "object" || value === null) return value;
    const known = seen.get(value);
    if (known !== undefined) return known;
    const keep = <T extends object>(copy: T): T => (seen.set(value, copy), copy);
    const kind = host.kind(value);
    switch (kind) {
      case Kind.Plain:
        return copyFields(value, keep({}), seen);
      case Kind.Array: {
        const copy = keep(new ArrayOf<unknown>());
        copy.length = (value as unknown[]).length;
        return copyFields(value, copy, seen);
      }
      case Kind.Date:
        return keep(new DateOf(apply(getTime, value, [])));
      case Kind.RegExp:
        return keep(new RegExpOf(apply(regexpSource, value, []), apply(regexpFlags, value, [])));
      case Kind.Number:
      case Kind.String:
      case Kind.Boolean:
      case Kind.BigInt:
        return keep(ObjectOf(host.unbox(value)) as object);
      case Kind.Map: {
        const copy = keep(new MapOf());
        const entries: unknown[] = [];
        apply(mapEach, value, [(item: unknown, key: unknown) => (push(entries, key), push(entries, item))]);
        for (let i = 0; i < entries.length; i += 2) apply(mapSet, copy, [clone(entries[i], seen), clone(entries[i + 1], seen)]);
        return copy;
      }
      case Kind.Set: {
        const copy = keep(new SetOf());
        const items: unknown[] = [];
        apply(setEach, value, [(item: unknown) => push(items, item)]);
        for (let i = 0; i < items.length; i++) apply(setAdd, copy, [clone(items[i], seen)]);
        return copy;
      }
      case Kind.Buffer:
        return keep(copyBuffer(value as ArrayBuffer));
      case Kind.TypedArray: {
        const type = typedArrays[apply(typedName, value, [])];
        const buffer = clone(apply(typedBuffer, value, []), seen) as ArrayBuffer;
        return keep(new type(buffer, apply(typedOffset, value, []), apply(typedLength, value, [])));
      }
      case Kind.DataView: {
        const buffer = clone(apply(viewBuffer, value, []), seen) as ArrayBuffer;
        return keep(new DataViewOf(buffer, apply(viewOffset, value, []), apply(viewLength, value, [])));
      }
      case Kind.Error:
        return copyError(value, seen);
      case Kind.DOMException:
        return keep(new DOMExceptionOf(apply(domMessage, value, []), apply(domName, value, [])));
      case Kind.Promise:
        throw refuse("a promise; await it first, and it");
      case Kind.Proxy:
        throw refuse("a Proxy");
      default:
        throw refuse("an object of this kind");
    }
  }

  return function structuredClone(value: unknown, options?: { transfer?: unknown }): unknown {
    if (arguments.length === 0) throw new TypeErrorOf("structuredClone needs a value");
    const transfer = options === undefined || options === null ? undefined : options.transfer;
    if (transfer !== undefined && !isArray(transfer)) throw new TypeErrorOf("structuredClone: transfer must be an array");
    const list = (transfer ?? []) as unknown[];
    for (let i = 0; i < list.length; i++) if (host.kind(list[i]) !== Kind.Buffer) throw refuse("what is in transfer and is no ArrayBuffer");
    const copy = clone(value, new Table());
    for (let i = 0; i < list.length; i++) apply(bufferTransfer, list[i], []); // detaches it
    return copy;
  };
}
