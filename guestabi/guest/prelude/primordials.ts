// The language's own functions, captured while the guest is built. A cell may change every one of them; nothing of ours
// must notice. So this prelude calls methods through `apply`, makes properties through `defineProperty` and null
// prototypes, and uses no iteration protocol on values of its own.

export const { apply, getOwnPropertyDescriptor, ownKeys } = Reflect;
const { hasOwn } = Object as unknown as { hasOwn(o: object, name: string): boolean };
export const { create, defineProperty, freeze, getPrototypeOf } = Object;
export const { isArray } = Array;
export const { isInteger, isFinite } = Number;
export const { floor } = Math;
export const StringOf = String;
export const NumberOf = Number;
export const TypeErrorOf = TypeError;
export const RangeErrorOf = RangeError;
export const PromiseOf = Promise;
export const DOMExceptionOf = DOMException;
export const stringify = JSON.stringify;
export const now = Date.now;

const { includes: includesText, slice: sliceText, toLowerCase, trim: trimText } = String.prototype;
export const includes = (text: string, part: string): boolean => apply(includesText, text, [part]);
export const slice = (text: string, from: number, to?: number): string => apply(sliceText, text, [from, to]);
export const lower = (text: string): string => apply(toLowerCase, text, []);
export const trim = (text: string): string => apply(trimText, text, []);

const rejectOf = Promise.reject;
export const rejected = (reason: unknown): Promise<never> => apply(rejectOf, PromiseOf, [reason]);

/** A data property; a descriptor without a prototype, which a cell could give a getter. */
export function put(target: object, name: PropertyKey, value: unknown, enumerable: boolean, changeable: boolean) {
  const d = create(null);
  d.value = value;
  d.enumerable = enumerable;
  d.writable = d.configurable = changeable;
  defineProperty(target, name, d);
}

/** A data property that nobody can change. */
export const fixed = (target: object, name: PropertyKey, value: unknown, enumerable = true) =>
  put(target, name, value, enumerable, false);

/** Whether a descriptor is of a data property. Descriptors have a prototype, so `in` would ask the cell. */
export const isData = (d: PropertyDescriptor): boolean => hasOwn(d, "value");

/** Appends to an array of our own, past any setter that a cell put on Array.prototype. */
export const push = (list: unknown[], value: unknown) => put(list, list.length, value, true, true);

/** Reports an error that has no caller, as an unhandled rejection. */
export const report = (error: unknown) => void rejected(error);

/** An Error with a code, which the model can branch on. */
export function coded(error: object, code: string): object {
  put(error, "code", code, true, true);
  return error;
}

export const invalid = (message: string): Promise<never> => rejected(coded(new TypeErrorOf(message), "invalid_input"));

const { get: mapGet, set: mapSet } = Map.prototype;
const MapOf = Map;

/** A Map whose methods are the language's own. */
export class Table<K, V> {
  #map = new MapOf<K, V>();
  get(key: K): V | undefined {
    return apply(mapGet, this.#map, [key]);
  }
  set(key: K, value: V): void {
    apply(mapSet, this.#map, [key, value]);
  }
}
