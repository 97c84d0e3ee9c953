// setTimeout, setInterval and what clears them. The host keeps the time; a timer lives across waits.

import type { Host } from "./host";
import { Timer } from "./host";
import { apply, create, fixed, floor, freeze, isFinite, now, NumberOf, TypeErrorOf } from "./primordials";

const MOST = 2147483647;

export function makeTimers(host: Host) {
  function start(name: string, callback: unknown, delay: unknown, args: unknown[], flags: Timer): number {
    if (typeof callback !== "function") throw new TypeErrorOf(name + " needs a function as its first argument");
    let ms = NumberOf(delay);
    ms = isFinite(ms) ? floor(ms) : 0;
    // An interval of no time would never let the cell come to rest.
    const least = flags === Timer.Repeats ? 1 : 0;
    if (ms < least) ms = least;
    if (ms > MOST) ms = MOST;
    return host.timer(ms, () => void apply(callback as () => void, undefined, args), flags);
  }
  const clear = (id: unknown) => {
    if (typeof id === "number" && id > 0 && id <= 4294967295) host.clear(id);
  };
  return {
    setTimeout: function setTimeout(callback: unknown, delay?: unknown, ...args: unknown[]): number {
      return start("setTimeout", callback, delay, args, Timer.Once);
    },
    setInterval: function setInterval(callback: unknown, delay?: unknown, ...args: unknown[]): number {
      return start("setInterval", callback, delay, args, Timer.Repeats);
    },
    clearTimeout: function clearTimeout(id?: unknown): void {
      clear(id);
    },
    clearInterval: function clearInterval(id?: unknown): void {
      clear(id);
    },
  };
}

/** performance, counted from the first look at it: the engine's own counts from when the guest was built. */
export function makePerformance(engine: () => number) {
  let origin: number | undefined;
  let started = 0;
  const elapsed = () => {
    if (origin === undefined) {
      origin = engine();
      started = now();
    }
    return engine() - origin;
  };
  const performance = create(null);
  fixed(performance, "now", () => elapsed());
  Object.defineProperty(performance, "timeOrigin", { get: () => (elapsed(), started), enumerable: true });
  return freeze(performance);
}
