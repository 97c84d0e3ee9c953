/* UTF-8 and UTF-16 for TextEncoder, TextDecoder and URL, as the Encoding Standard has them. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

/* How many bytes of s are one code point; 0 where they are no UTF-8, with the length of the longest start of a code
   point in *part, which one U+FFFD stands for, and in *open whether more bytes could complete it. */
static size_t sequence(const uint8_t *s, size_t len, size_t *part, bool *open) {
  *open = false;
  *part = 1;
  uint8_t c = s[0], low = 0x80, high = 0xBF;
  size_t need;
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c <= 0xDF) {
    need = 1;
  } else if (c >= 0xE0 && c <= 0xEF) {
    need = 2;
    if (c == 0xE0) low = 0xA0;
    if (c == 0xED) high = 0x9F; /* surrogates */
  } else if (c >= 0xF0 && c <= 0xF4) {
    need = 3;
    if (c == 0xF0) low = 0x90;
    if (c == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  for (size_t i = 1; i <= need; i++, low = 0x80, high = 0xBF) {
    if (i >= len) {
      *open = true;
      return 0;
    }
    if (s[i] < low || s[i] > high) return 0;
    (*part)++;
  }
  return need + 1;
}

static const char replacement[] = "\xEF\xBF\xBD";

/* Decodes UTF-8. Returns how many bytes were used: all, or all but an unfinished end where `more` may follow. False in
   *ok where something was not UTF-8. */
static size_t decode_utf8(buffer *b, const uint8_t *s, size_t len, bool more, bool *ok) {
  size_t start = 0, i = 0, part;
  bool open;
  *ok = true;
  while (i < len) {
    uint64_t w;
    while (len - i >= 8 && (memcpy(&w, s + i, 8), !(w & TEXT_ONES * 0x80))) i += 8;
    if (i == len) break;
    size_t n = sequence(s + i, len - i, &part, &open);
    if (n) {
      i += n;
      continue;
    }
    buffer_put(b, (const char *)s + start, i - start);
    if (open && more) return i;
    buffer_puts(b, replacement);
    *ok = false;
    i += part;
    start = i;
  }
  if (len > start) buffer_put(b, (const char *)s + start, len - start);
  return len;
}

void text_clean(buffer *b, const uint8_t *bytes, size_t len) {
  bool ok;
  decode_utf8(b, bytes, len, false, &ok);
}

/* The index of the next lone surrogate in the engine's text from i on, or len. It is three bytes long there. */
static size_t next_lone_surrogate(const char *s, size_t i, size_t len) {
  for (; i + 2 < len; i++) {
    uint64_t w;
    while (len - i >= 8 && (memcpy(&w, s + i, 8), !(text_bytes_of(w, 0xED) & TEXT_ONES * 0x80))) i += 8;
    if (i + 2 < len && (unsigned char)s[i] == 0xED && (unsigned char)s[i + 1] >= 0xA0) return i;
  }
  return len;
}

int text_put(buffer *b, JSValueConst v) {
  size_t len;
  const char *s = JS_ToCStringLen(ctx, &len, v);
  if (!s) return -1;
  size_t at = b->len;
  buffer_put(b, s, len);
  JS_FreeCString(ctx, s);
  for (size_t i = at; (i = next_lone_surrogate(b->ptr, i, b->len)) < b->len; i += 3)
    memcpy(b->ptr + i, replacement, 3); /* as long */
  return 0;
}

bool text_lone_surrogate(const char *s, size_t len) { return next_lone_surrogate(s, 0, len) < len; }

static void put_code_point(buffer *b, uint32_t c) {
  char u[4];
  size_t n = 0;
  if (c < 0x80) {
    u[n++] = c;
  } else {
    if (c < 0x800) {
      u[n++] = 0xC0 | c >> 6;
    } else {
      if (c < 0x10000) {
        u[n++] = 0xE0 | c >> 12;
      } else {
        u[n++] = 0xF0 | c >> 18;
        u[n++] = 0x80 | (c >> 12 & 0x3F);
      }
      u[n++] = 0x80 | (c >> 6 & 0x3F);
    }
    u[n++] = 0x80 | (c & 0x3F);
  }
  buffer_put(b, u, n);
}

static size_t decode_utf16(buffer *b, const uint8_t *s, size_t len, bool more, bool *ok) {
  size_t i = 0;
  *ok = true;
  while (i + 1 < len) {
    uint32_t c = s[i] | s[i + 1] << 8;
    if (c >= 0xD800 && c < 0xDC00) {
      if (i + 3 >= len) {
        if (more) return i;
      } else {
        uint32_t d = s[i + 2] | s[i + 3] << 8;
        if (d >= 0xDC00 && d < 0xE000) {
          put_code_point(b, 0x10000 + ((c - 0xD800) << 10) + (d - 0xDC00));
          i += 4;
          continue;
        }
      }
    }
    if (c >= 0xD800 && c < 0xE000) {
      c = 0xFFFD;
      *ok = false;
    }
    put_code_point(b, c);
    i += 2;
  }
  if (i < len && !more) { /* half a unit */
    /* A high surrogate and a stray byte are one error together. */
    if (i < 2 || !(b->len >= 3 && !*ok && (s[i - 1] & 0xFC) == 0xD8)) buffer_puts(b, replacement);
    *ok = false;
    return len;
  }
  return i;
}

/* host.encode(text) => Uint8Array */
static JSValue host_encode(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  buffer b = {0};
  if (text_put(&b, argv[0]) < 0) return JS_EXCEPTION;
  JSValue array = JS_NewUint8ArrayCopy(ctx, (const uint8_t *)(b.len ? b.ptr : ""), b.len);
  buffer_free(&b);
  return array;
}

/* host.encodeInto(text, view) => written + read * 2^32, of whole code points */
static JSValue host_encode_into(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  buffer b = {0};
  uint8_t *bytes;
  size_t len, read = 0, written = 0;
  if (text_put(&b, argv[0]) < 0) return JS_EXCEPTION;
  if (!kind_bytes(argv[1], &bytes, &len)) len = 0;
  while (written < b.len) {
    unsigned char first = b.ptr[written];
    size_t n = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (written + n > len) break;
    memcpy(bytes + written, b.ptr + written, n);
    written += n;
    read += n == 4 ? 2 : 1;
  }
  buffer_free(&b);
  return JS_NewFloat64(ctx, (double)read * 4294967296.0 + (double)written);
}

enum { DECODE_UTF16 = 1, DECODE_FATAL = 2, DECODE_KEEP_BOM = 4, DECODE_MORE = 8 };
/* What a decoder remembers between chunks: up to three bytes, how many they are, and whether the start is behind it. */
enum { CARRY_COUNT = 24, CARRY_STARTED = 1 << 26 };

/* host.decode(view, flags, carry) => [text, carry]; undefined where it is fatal. */
static JSValue host_decode(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  int32_t flags = 0, carry = 0;
  uint8_t *bytes = NULL;
  size_t len = 0;
  JS_ToInt32(ctx, &flags, argv[1]);
  JS_ToInt32(ctx, &carry, argv[2]);
  if (!JS_IsUndefined(argv[0]) && !kind_bytes(argv[0], &bytes, &len))
    return JS_ThrowTypeError(ctx, "decode needs an ArrayBuffer or a view of one");
  size_t held = carry >> CARRY_COUNT & 3, total = held + len;
  uint8_t *all = malloc(total + 1);
  if (!all) out_of_memory();
  for (size_t i = 0; i < held; i++) all[i] = carry >> 8 * i;
  if (len) memcpy(all + held, bytes, len);
  bool more = flags & DECODE_MORE, ok;
  buffer b = {0};
  size_t used = (flags & DECODE_UTF16 ? decode_utf16 : decode_utf8)(&b, all, total, more, &ok);
  int32_t next = carry & CARRY_STARTED;
  for (size_t i = used; i < total; i++) next |= all[i] << 8 * (i - used);
  next |= (int32_t)(total - used) << CARRY_COUNT;
  release_memory(all);
  size_t skip = 0;
  if (!(next & CARRY_STARTED) && b.len) {
    next |= CARRY_STARTED;
    if (!(flags & DECODE_KEEP_BOM) && b.len >= 3 && !memcmp(b.ptr, "\xEF\xBB\xBF", 3)) skip = 3;
  }
  JSValue answer = JS_UNDEFINED;
  if (ok || !(flags & DECODE_FATAL)) {
    JSValue parts[2] = {JS_NewStringLen(ctx, b.len ? b.ptr + skip : "", b.len - skip), JS_NewInt32(ctx, more ? next : 0)};
    answer = JS_IsException(parts[0]) ? JS_EXCEPTION : JS_NewArrayFrom(ctx, 2, parts);
  }
  buffer_free(&b);
  return answer;
}

void text_init(JSValueConst host) {
  host_define(host, "encode", JS_NewCFunction(ctx, host_encode, "encode", 1));
  host_define(host, "encodeInto", JS_NewCFunction(ctx, host_encode_into, "encodeInto", 2));
  host_define(host, "decode", JS_NewCFunction(ctx, host_decode, "decode", 3));
}
