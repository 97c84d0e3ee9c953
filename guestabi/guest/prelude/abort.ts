// AbortController and AbortSignal. A signal given to a tool call as `{signal}` cancels just that call.

import type { Host } from "./host";
import { Timer } from "./host";
import {
  apply, coded, create, DOMExceptionOf, freeze, floor, isArray, NumberOf, push, put, report, TypeErrorOf,
} from "./primordials";

type Listener = { callback: unknown; once: boolean };
type Algorithm = (reason: unknown) => void;

export function makeAbort(host: Host) {
  const token = create(null);
  let make!: () => Signal;
  let abort!: (signal: Signal, reason: unknown) => void;
  let isSignal!: (value: unknown) => value is Signal;
  let check!: (signal: Signal) => void;
  let attach!: (signal: Signal, algorithm: Algorithm) => () => void;

  const aborted = () => new DOMExceptionOf("This operation was aborted", "AbortError");

  class Signal {
    #aborted = false;
    #reason: unknown = undefined;
    #algorithms: (Algorithm | undefined)[] = [];
    #listeners: (Listener | undefined)[] = [];
    #handler: unknown = null;

    static {
      make = () => new Signal(token);
      isSignal = (value): value is Signal => typeof value === "object" && value !== null && #aborted in value;
      abort = (signal, reason) => signal.#abort(reason);
      check = (signal) => {
        if (signal.#aborted) throw signal.#reason;
      };
      // The place is emptied, not taken out, so that places of others stay; trailing empty ones go.
      attach = (signal, algorithm) => {
        const list = signal.#algorithms;
        const at = list.length;
        push(list, algorithm);
        return () => {
          if (list[at] !== algorithm) return;
          put(list, at, undefined, true, true);
          while (list.length > 0 && list[list.length - 1] === undefined) list.length--;
        };
      };
    }

    constructor(key?: unknown) {
      if (key !== token) throw new TypeErrorOf("an AbortSignal is made by an AbortController, AbortSignal.timeout or AbortSignal.any");
    }

    #abort(reason: unknown) {
      if (this.#aborted) return;
      this.#aborted = true;
      this.#reason = reason;
      const algorithms = this.#algorithms;
      this.#algorithms = [];
      for (let i = 0; i < algorithms.length; i++) {
        const algorithm = algorithms[i];
        if (algorithm) algorithm(reason);
      }
      const event = create(null);
      event.type = "abort";
      event.target = event.currentTarget = this;
      freeze(event);
      const handler = this.#handler;
      if (typeof handler === "function") this.#tell(handler, this, event);
      const listeners = this.#listeners;
      for (let i = 0; i < listeners.length; i++) {
        const listener = listeners[i];
        if (!listener) continue;
        if (listener.once) put(listeners, i, undefined, true, true);
        if (typeof listener.callback === "function") this.#tell(listener.callback, this, event);
        else this.#tell((listener.callback as { handleEvent?: unknown }).handleEvent, listener.callback, event);
      }
    }

    #tell(callback: unknown, self: unknown, event: object) {
      try {
        apply(callback as Function, self, [event]);
      } catch (error) {
        report(error);
      }
    }

    get aborted(): boolean {
      return this.#aborted;
    }
    get reason(): unknown {
      return this.#reason;
    }
    get onabort(): unknown {
      return this.#handler;
    }
    set onabort(handler: unknown) {
      this.#handler = typeof handler === "function" ? handler : null;
    }

    throwIfAborted(): void {
      if (this.#aborted) throw this.#reason;
    }

    addEventListener(type: unknown, callback: unknown, options?: unknown): void {
      const listeners = this.#listeners;
      if (type !== "abort" || callback === null || callback === undefined) return;
      if (typeof callback !== "function" && typeof callback !== "object") throw new TypeErrorOf("addEventListener needs a function");
      for (let i = 0; i < listeners.length; i++) if (listeners[i]?.callback === callback) return;
      const once = typeof options === "object" && options !== null && !!(options as { once?: unknown }).once;
      const listener = create(null);
      listener.callback = callback;
      listener.once = once;
      push(listeners, listener);
    }

    removeEventListener(type: unknown, callback: unknown): void {
      const listeners = this.#listeners;
      for (let i = 0; i < listeners.length; i++)
        if (type === "abort" && listeners[i]?.callback === callback) put(listeners, i, undefined, true, true);
    }

    static abort(reason?: unknown): Signal {
      const signal = make();
      signal.#abort(reason === undefined ? aborted() : reason);
      return signal;
    }

    static timeout(milliseconds: unknown): Signal {
      const ms = floor(NumberOf(milliseconds));
      if (!(ms >= 0 && ms <= 9007199254740991)) throw new TypeErrorOf("AbortSignal.timeout needs milliseconds as a number of at least 0");
      const signal = make();
      const expire = () => signal.#abort(new DOMExceptionOf("The operation was aborted due to timeout", "TimeoutError"));
      host.timer(ms > 2147483647 ? 2147483647 : ms, expire, Timer.Idle);
      return signal;
    }

    static any(signals: unknown): Signal {
      const sources: Signal[] = [];
      if (isArray(signals)) for (let i = 0; i < signals.length; i++) push(sources, signals[i]);
      else for (const signal of signals as Iterable<Signal>) push(sources, signal);
      const result = make();
      for (let i = 0; i < sources.length; i++)
        if (!isSignal(sources[i])) throw new TypeErrorOf("AbortSignal.any needs a list of AbortSignals");
      for (let i = 0; i < sources.length; i++)
        if (sources[i].#aborted) {
          result.#abort(sources[i].#reason);
          return result;
        }
      for (let i = 0; i < sources.length; i++) attach(sources[i], (reason) => result.#abort(reason));
      return result;
    }
  }

  class AbortController {
    #signal = make();
    get signal(): Signal {
      return this.#signal;
    }
    abort(reason?: unknown): void {
      abort(this.#signal, reason === undefined ? aborted() : reason);
    }
  }

  /** The signal among a call's options; throws the reason of one that is aborted already. */
  function signalOf(options: { signal?: unknown }): Signal | undefined {
    const signal = options.signal;
    if (signal === undefined || signal === null) return undefined;
    if (!isSignal(signal)) throw coded(new TypeErrorOf("a call's signal must be an AbortSignal, as in {signal: controller.signal}"), "invalid_input");
    check(signal);
    return signal;
  }

  return { AbortController, AbortSignal: Signal, isSignal, signalOf, listen: attach };
}
