/* Two kinds of chance: Math.random, a fast generator that the host seeds, and what `crypto` gives, which comes from the
   host's entropy for every eight bytes. */
#include "guest.h"

static uint64_t state, drawn;

void random_seed(uint64_t seed) { state = seed ? seed : 1; }

static JSValue math_random(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  /* xorshift64*; its top 52 bits as a fraction */
  uint64_t x = state;
  x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
  state = x;
  return JS_NewFloat64(ctx, (double)(x * 0x2545F4914F6CDD1Dull >> 12) / 4503599627370496.0);
}

/* A deterministic host always gives the same number, so that a replay needs no memory of what was drawn; the count of
   draws, which is in the snapshot, then keeps two UUIDs of a cell apart. It takes nothing from a real host's entropy:
   what is random stays random whatever is added to it. */
static uint64_t draw(void) {
  uint64_t z = ++drawn * 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return bridge_entropy() ^ (z ^ z >> 31);
}

/* host.entropy(view) fills it. */
static JSValue host_entropy(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  uint8_t *bytes;
  size_t len;
  if (!kind_bytes(argv[0], &bytes, &len)) return JS_ThrowTypeError(ctx, "not a view of a buffer");
  for (size_t i = 0; i < len;)
    for (uint64_t r = draw(), k = 0; k < 8 && i < len; k++, r >>= 8) bytes[i++] = (uint8_t)r;
  return JS_UNDEFINED;
}

/* host.uuid() */
static JSValue host_uuid(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  static const char hex[] = "0123456789abcdef";
  uint64_t halves[2] = {draw(), draw()};
  halves[0] = (halves[0] & ~0xF000ull) | 0x4000;                 /* version 4 */
  halves[1] = (halves[1] & ~(3ull << 62)) | 2ull << 62;          /* the variant of RFC 9562 */
  char text[36];
  for (int i = 0, digit = 0; i < 36; i++) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    text[i] = dash ? '-' : hex[halves[digit / 16] >> (60 - 4 * (digit % 16)) & 15];
    if (!dash) digit++;
  }
  return JS_NewStringLen(ctx, text, sizeof text);
}

void random_init(JSValueConst host) {
  JSValue global = JS_GetGlobalObject(ctx), math = JS_GetPropertyStr(ctx, global, "Math");
  JS_DefinePropertyValueStr(ctx, math, "random", JS_NewCFunction(ctx, math_random, "random", 0),
                            JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
  JS_FreeValue(ctx, math);
  JS_FreeValue(ctx, global);
  host_define(host, "entropy", JS_NewCFunction(ctx, host_entropy, "entropy", 1));
  host_define(host, "uuid", JS_NewCFunction(ctx, host_uuid, "uuid", 0));
}
