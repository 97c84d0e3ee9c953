// crypto: what needs randomness that nobody can guess. It is the host's; Math.random's generator is no part of it.

import type { Host } from "./host";
import { Kind } from "./kinds";
import { apply, create, DOMExceptionOf, fixed, freeze, getOwnPropertyDescriptor, getPrototypeOf } from "./primordials";

const typed = getPrototypeOf(Uint8Array.prototype);
const typedBytes = getOwnPropertyDescriptor(typed, "byteLength")!.get!;
const typedName = getOwnPropertyDescriptor(typed, Symbol.toStringTag)!.get!;
const MOST = 65536;

export function makeCrypto(host: Host): object {
  const crypto = create(null);
  fixed(crypto, "getRandomValues", function getRandomValues(view: ArrayBufferView): ArrayBufferView {
    const name = host.kind(view) === Kind.TypedArray ? (apply(typedName, view, []) as string) : "";
    if (name === "" || name === "Float16Array" || name === "Float32Array" || name === "Float64Array")
      throw new DOMExceptionOf("getRandomValues needs a typed array of whole numbers, for example new Uint8Array(16)", "TypeMismatchError");
    const bytes: number = apply(typedBytes, view, []);
    if (bytes > MOST) throw new DOMExceptionOf(`getRandomValues gives at most ${MOST} bytes at once, not ${bytes}`, "QuotaExceededError");
    host.entropy(view);
    return view;
  });
  fixed(crypto, "randomUUID", function randomUUID(): string {
    return host.uuid();
  });
  return freeze(crypto);
}
