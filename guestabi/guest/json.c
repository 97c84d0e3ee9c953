/* JSON text of a JavaScript value. The engine's JSON.stringify will not do: it has no size limit, so a small graph with
   shared parts can write gigabytes; it turns a Map, a Set or a pending promise into {}; and it runs code of the cell
   where an error is only to be shown. */
#include "guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deeper than people nest and far less than the native stack holds. */
enum { MAX_DEPTH = 1000 };

typedef struct {
  buffer *out;
  enum json_mode mode;
  void **path; /* the objects between the root and here */
  size_t depth, cap;
} writer;

static JSAtom atom_to_json, atom_value_of;
/* The classes of Object(1), Object("") and so on: JSON writes what they hold. */
static JSClassID boxed_classes[4];

void json_init(void) {
  atom_to_json = JS_NewAtom(ctx, "toJSON");
  atom_value_of = JS_NewAtom(ctx, "valueOf");
  JSValue plain[] = {JS_NewInt32(ctx, 0), JS_NewString(ctx, ""), JS_FALSE, JS_NewBigInt64(ctx, 0)};
  for (int i = 0; i < 4; i++) {
    JSValue object = JS_ToObject(ctx, plain[i]);
    boxed_classes[i] = JS_GetClassID(object);
    JS_FreeValue(ctx, object);
    JS_FreeValue(ctx, plain[i]);
  }
}

static bool is_boxed(JSValueConst v) {
  JSClassID class = JS_GetClassID(v);
  return class == boxed_classes[0] || class == boxed_classes[1] || class == boxed_classes[2] || class == boxed_classes[3];
}

static int write_value(writer *w, JSValueConst v, bool in_array);

static void put(writer *w, const char *s) { buffer_puts(w->out, s); }

/* Text in, JSON string out. UTF-8 as the engine hands it over: a lone surrogate comes as its three-byte form, which is
   not UTF-8, and goes out as an escape. */
void json_write_string(buffer *b, const char *s, size_t len) {
  static const char hex[] = "0123456789abcdef";
  buffer_put(b, "\"", 1);
  size_t start = 0;
  for (size_t i = 0; i < len && !b->full; i++) {
    unsigned char c = s[i];
    char esc[8];
    size_t n = 0, skip = 1;
    if (c == '"' || c == '\\') {
      esc[0] = '\\', esc[1] = c, n = 2;
    } else if (c < 0x20) {
      const char *named = c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : NULL;
      if (named) {
        memcpy(esc, named, n = 2);
      } else {
        memcpy(esc, "\\u00", 4);
        esc[4] = hex[c >> 4], esc[5] = hex[c & 15], n = 6;
      }
    } else if (c == 0xED && i + 2 < len && (unsigned char)s[i + 1] >= 0xA0) {
      unsigned u = 0xD000 | (s[i + 1] & 0x3F) << 6 | (s[i + 2] & 0x3F);
      memcpy(esc, "\\u", 2);
      for (int k = 0; k < 4; k++) esc[2 + k] = hex[u >> (12 - 4 * k) & 15];
      n = 6, skip = 3;
    }
    if (n) {
      buffer_put(b, s + start, i - start);
      buffer_put(b, esc, n);
      i += skip - 1;
      start = i + 1;
    }
  }
  buffer_put(b, s + start, len - start);
  buffer_put(b, "\"", 1);
}

static int write_js_string(writer *w, JSValueConst v) {
  size_t len;
  const char *s = JS_ToCStringLen(ctx, &len, v);
  if (!s) return -1;
  json_write_string(w->out, s, len);
  JS_FreeCString(ctx, s);
  return 0;
}

static void put_string(writer *w, const char *s) { json_write_string(w->out, s, strlen(s)); }

static int write_number(writer *w, JSValueConst v) {
  char text[32];
  if (JS_VALUE_GET_TAG(v) == JS_TAG_INT) {
    snprintf(text, sizeof text, "%d", JS_VALUE_GET_INT(v));
    put(w, text);
    return 0;
  }
  double d;
  if (JS_ToFloat64(ctx, &d, v)) return -1;
  if (d != d || d - d != 0) {
    put(w, "null");
    return 0;
  }
  const char *s = JS_ToCString(ctx, v);
  if (!s) return -1;
  put(w, s);
  JS_FreeCString(ctx, s);
  return 0;
}

/* The own property, by value where that runs no code of the cell. `accessor` says that there is a getter. */
static JSValue own_data(JSValueConst obj, JSAtom key, bool *accessor) {
  JSPropertyDescriptor d;
  *accessor = false;
  if (JS_GetOwnProperty(ctx, &d, obj, key) <= 0) {
    JS_FreeValue(ctx, JS_GetException(ctx));
    return JS_UNDEFINED;
  }
  if (d.flags & JS_PROP_GETSET) {
    *accessor = true;
    JS_FreeValue(ctx, d.getter);
    JS_FreeValue(ctx, d.setter);
    return JS_UNDEFINED;
  }
  return d.value;
}

static JSValue get(writer *w, JSValueConst obj, JSAtom key, bool *accessor) {
  if (w->mode == JSON_SAFE) return own_data(obj, key, accessor);
  *accessor = false;
  return JS_GetProperty(ctx, obj, key);
}

static bool has_json(writer *w, JSValueConst v) {
  if (JS_IsUndefined(v) || JS_IsSymbol(v)) return false;
  return !JS_IsFunction(ctx, v);
}

static int write_array(writer *w, JSValueConst v, int64_t len) {
  put(w, "[");
  for (int64_t i = 0; i < len && !w->out->full; i++) {
    if (i) put(w, ",");
    JSValue item;
    bool accessor = false;
    if (w->mode == JSON_SAFE) {
      JSAtom key = JS_NewAtomUInt32(ctx, (uint32_t)i);
      item = own_data(v, key, &accessor);
      JS_FreeAtom(ctx, key);
    } else {
      item = JS_GetPropertyInt64(ctx, v, i);
    }
    if (JS_IsException(item)) return -1;
    if (accessor) {
      put_string(w, "[getter]");
      continue;
    }
    int r = write_value(w, item, true);
    JS_FreeValue(ctx, item);
    if (r < 0) return -1;
  }
  put(w, "]");
  return 0;
}

/* `error` writes name and message first: they are not enumerable. */
static int write_object(writer *w, JSValueConst v, bool error) {
  JSPropertyEnum *keys = NULL;
  uint32_t count = 0;
  bool first = true;
  put(w, "{");
  if (error) {
    static const char *const fields[] = {"name", "message"};
    for (int i = 0; i < 2; i++) {
      JSAtom key = JS_NewAtom(ctx, fields[i]);
      bool accessor = false;
      JSValue f = w->mode == JSON_SAFE ? own_data(v, key, &accessor) : JS_GetProperty(ctx, v, key);
      JS_FreeAtom(ctx, key);
      if (JS_IsException(f)) return -1;
      if (JS_IsString(f)) {
        if (!first) put(w, ",");
        first = false;
        put_string(w, fields[i]);
        put(w, ":");
        write_js_string(w, f);
      }
      JS_FreeValue(ctx, f);
    }
  }
  if (JS_GetOwnPropertyNames(ctx, &keys, &count, v, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) return -1;
  int r = 0;
  for (uint32_t i = 0; i < count && r == 0 && !w->out->full; i++) {
    bool accessor = false;
    JSValue f = get(w, v, keys[i].atom, &accessor);
    if (JS_IsException(f)) {
      r = -1;
      break;
    }
    if (accessor || has_json(w, f) || JS_IsFunction(ctx, f)) {
      size_t len;
      const char *name = JS_AtomToCStringLen(ctx, &len, keys[i].atom);
      size_t mark = w->out->len;
      if (!first) put(w, ",");
      json_write_string(w->out, name, len);
      JS_FreeCString(ctx, name);
      put(w, ":");
      size_t value_at = w->out->len;
      r = accessor ? (put_string(w, "[getter]"), 0) : write_value(w, f, false);
      if (r == 0 && w->out->len == value_at && !w->out->full)
        w->out->len = mark; /* a function without toJSON: the property is left out, as JSON does */
      else
        first = false;
    }
    JS_FreeValue(ctx, f);
  }
  JS_FreePropertyEnum(ctx, keys, count);
  put(w, "}");
  return r;
}

/* Calls a method of the object by way of its class's own prototype, so that what the cell does to the prototype cannot
   matter more than to its own value. */
static JSValue spread(JSValueConst v) {
  JSValue array = JS_NewArray(ctx);
  JSAtom entries = JS_NewAtom(ctx, JS_IsMap(v) ? "entries" : "values");
  JSValue it = JS_Invoke(ctx, v, entries, 0, NULL);
  JS_FreeAtom(ctx, entries);
  JSAtom next = JS_NewAtom(ctx, "next");
  for (uint32_t i = 0; !JS_IsException(it); i++) {
    JSValue step = JS_Invoke(ctx, it, next, 0, NULL);
    JSValue done = JS_IsException(step) ? JS_EXCEPTION : JS_GetPropertyStr(ctx, step, "done");
    int end = JS_IsException(done) ? -1 : JS_ToBool(ctx, done);
    if (end == 0) JS_DefinePropertyValueUint32(ctx, array, i, JS_GetPropertyStr(ctx, step, "value"), JS_PROP_C_W_E);
    JS_FreeValue(ctx, done);
    JS_FreeValue(ctx, step);
    if (end != 0) {
      JS_FreeValue(ctx, it);
      it = end < 0 ? JS_EXCEPTION : JS_UNDEFINED;
      break;
    }
  }
  JS_FreeAtom(ctx, next);
  if (JS_IsException(it)) {
    JS_FreeValue(ctx, array);
    return JS_EXCEPTION;
  }
  JS_FreeValue(ctx, it);
  return array;
}

/* A Map whose keys are all strings reads best as an object; any other as a list of pairs. */
static int write_map(writer *w, JSValueConst v) {
  JSValue pairs = spread(v);
  if (JS_IsException(pairs)) return -1;
  int64_t len = 0;
  JS_GetLength(ctx, pairs, &len);
  bool strings = true;
  for (int64_t i = 0; i < len && strings; i++) {
    JSValue pair = JS_GetPropertyInt64(ctx, pairs, i), key = JS_GetPropertyUint32(ctx, pair, 0);
    strings = JS_IsString(key);
    JS_FreeValue(ctx, key);
    JS_FreeValue(ctx, pair);
  }
  int r = 0;
  if (!strings) {
    r = write_array(w, pairs, len);
  } else {
    put(w, "{");
    for (int64_t i = 0; i < len && r == 0 && !w->out->full; i++) {
      JSValue pair = JS_GetPropertyInt64(ctx, pairs, i);
      JSValue key = JS_GetPropertyUint32(ctx, pair, 0), value = JS_GetPropertyUint32(ctx, pair, 1);
      if (i) put(w, ",");
      write_js_string(w, key);
      put(w, ":");
      r = write_value(w, value, true);
      JS_FreeValue(ctx, key);
      JS_FreeValue(ctx, value);
      JS_FreeValue(ctx, pair);
    }
    put(w, "}");
  }
  JS_FreeValue(ctx, pairs);
  return r;
}

static int write_bytes(writer *w, const uint8_t *bytes, size_t len) {
  char text[8];
  put(w, "[");
  for (size_t i = 0; i < len && !w->out->full; i++) {
    snprintf(text, sizeof text, i ? ",%u" : "%u", bytes[i]);
    put(w, text);
  }
  put(w, "]");
  return 0;
}

static int write_plain(writer *w, JSValueConst v) {
  if (JS_IsArray(v) && !JS_IsProxy(v)) {
    int64_t len;
    if (JS_GetLength(ctx, v, &len) < 0) return -1;
    return write_array(w, v, len);
  }
  if (JS_IsMap(v) && w->mode != JSON_SAFE) return write_map(w, v);
  if (JS_IsSet(v) && w->mode != JSON_SAFE) {
    JSValue items = spread(v);
    if (JS_IsException(items)) return -1;
    int64_t len = 0;
    JS_GetLength(ctx, items, &len);
    int r = write_array(w, items, len);
    JS_FreeValue(ctx, items);
    return r;
  }
  if (JS_GetTypedArrayType(v) >= 0) {
    int64_t len;
    if (JS_GetLength(ctx, v, &len) < 0) return -1;
    return write_array(w, v, len);
  }
  if (JS_IsArrayBuffer(v)) {
    size_t size;
    uint8_t *bytes = JS_GetArrayBuffer(ctx, &size, v);
    if (!bytes) {
      JS_FreeValue(ctx, JS_GetException(ctx));
      size = 0;
    }
    return write_bytes(w, bytes, size);
  }
  if (JS_IsRegExp(v) && w->mode != JSON_SAFE) {
    JSValue s = JS_ToString(ctx, v);
    if (JS_IsException(s)) return -1;
    int r = write_js_string(w, s);
    JS_FreeValue(ctx, s);
    return r;
  }
  return write_object(w, v, JS_IsError(v));
}

static int write_nested(writer *w, JSValueConst v) {
  void *self = JS_VALUE_GET_PTR(v);
  if (w->depth >= MAX_DEPTH) {
    if (w->mode == JSON_INPUT) {
      JS_ThrowTypeError(ctx, "the input is nested more than %d levels deep", MAX_DEPTH);
      return -1;
    }
    put_string(w, "[nested too deep]");
    return 0;
  }
  for (size_t i = 0; i < w->depth; i++) {
    if (w->path[i] != self) continue;
    if (w->mode == JSON_INPUT) {
      JS_ThrowTypeError(ctx, "the input contains itself (a circular reference); send a tree");
      return -1;
    }
    put_string(w, "[circular]");
    return 0;
  }
  if (w->depth == w->cap) {
    w->cap = w->cap ? w->cap * 2 : 16;
    w->path = realloc(w->path, w->cap * sizeof *w->path);
    if (!w->path) out_of_memory();
  }
  w->path[w->depth++] = self;
  int r = write_plain(w, v);
  w->depth--;
  return r;
}

static int write_boxed_or_object(writer *w, JSValueConst v) {
  if (JS_IsPromise(v)) {
    if (w->mode == JSON_INPUT) {
      JS_ThrowTypeError(ctx, "the input holds a promise; await it first");
      return -1;
    }
    put_string(w, "[promise that was not awaited: use await or Promise.all]");
    return 0;
  }
  if (w->mode == JSON_SAFE) {
    if (JS_IsProxy(v)) {
      put_string(w, "[proxy]");
      return 0;
    }
    if (JS_IsDate(v)) {
      put_string(w, "[Date]");
      return 0;
    }
    return write_nested(w, v);
  }
  JSValue f = JS_GetProperty(ctx, v, atom_to_json);
  if (JS_IsException(f)) return -1;
  if (JS_IsFunction(ctx, f)) {
    JSValue plain = JS_Call(ctx, f, v, 0, NULL);
    JS_FreeValue(ctx, f);
    if (JS_IsException(plain)) return -1;
    /* toJSON that answers with an object is not asked again, as JSON.stringify does not. */
    int r = JS_IsObject(plain) && !JS_IsFunction(ctx, plain) ? write_nested(w, plain) : write_value(w, plain, true);
    JS_FreeValue(ctx, plain);
    return r;
  }
  JS_FreeValue(ctx, f);
  JSValue boxed = is_boxed(v) ? JS_Invoke(ctx, v, atom_value_of, 0, NULL) : JS_UNDEFINED;
  if (JS_IsException(boxed)) return -1;
  int r = JS_IsUndefined(boxed) || JS_IsObject(boxed) ? write_nested(w, v) : write_value(w, boxed, true);
  JS_FreeValue(ctx, boxed);
  return r;
}

/* Writes nothing for a function or undefined that JSON would leave out of an object. */
static int write_value(writer *w, JSValueConst v, bool in_array) {
  if (JS_IsString(v)) return write_js_string(w, v);
  if (JS_IsNumber(v)) return write_number(w, v);
  if (JS_IsBool(v)) return put(w, JS_VALUE_GET_BOOL(v) ? "true" : "false"), 0;
  if (JS_IsNull(v)) return put(w, "null"), 0;
  if (JS_IsBigInt(v)) {
    if (w->mode == JSON_INPUT) {
      JS_ThrowTypeError(ctx, "the input holds a BigInt, which JSON cannot carry; send Number(x) or String(x)");
      return -1;
    }
    JSValue s = JS_ToString(ctx, v);
    if (JS_IsException(s)) return -1;
    int r = write_js_string(w, s);
    JS_FreeValue(ctx, s);
    return r;
  }
  if (JS_IsObject(v)) {
    if (!JS_IsFunction(ctx, v)) return write_boxed_or_object(w, v);
    if (w->mode != JSON_SAFE) {
      JSValue f = JS_GetProperty(ctx, v, atom_to_json);
      if (JS_IsException(f)) return -1;
      bool handle = JS_IsFunction(ctx, f);
      JS_FreeValue(ctx, f);
      if (handle) return write_boxed_or_object(w, v);
    } else {
      put_string(w, "[function]");
      return 0;
    }
  }
  if (in_array) put(w, "null");
  return 0;
}

int json_write(buffer *b, JSValueConst v, enum json_mode mode) {
  writer w = {.out = b, .mode = mode};
  int r = write_value(&w, v, true);
  free(w.path);
  return r;
}
