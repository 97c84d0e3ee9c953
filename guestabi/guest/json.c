/* JSON text of a JavaScript value. The engine's JSON.stringify will not do: it has no size limit, so a small graph with
   shared parts can write gigabytes; it turns a Map, a Set or a pending promise into {}; and it runs code of the cell
   where an error is only to be shown.

   The table, for `return`, json(), text() and results.save (JSON_VALUE). What a tool gets (JSON_INPUT) is the same but
   for the lines marked with *, which reject the call with a TypeError. What an error shows (JSON_SAFE) runs no code:
   accessors become "[getter]", toJSON is not asked, a proxy becomes "[proxy]".

     undefined, a function, a symbol        null at the top and in arrays, left out of objects
     NaN, Infinity, -0                      null, null, 0
     a string                               itself; a lone surrogate as its escape (\ud800)
   * a BigInt                               its digits as a string
     a Date                                 its ISO string; null where it is invalid
     a RegExp                               its text, "/a+/g"
     a Map with string keys only            an object
     any other Map                          an array of [key, value] pairs
     a Set                                  an array
     a typed array, DataView, ArrayBuffer   an array of its numbers; of its bytes
     Object(1), Object("a"), Object(true)   the number, the string, the boolean
     an Error, a DOMException               {name, message, …own enumerable fields, cause?, errors?}
     an object with toJSON, a catalog handle what toJSON gives
     any other object, a class's instance   its own enumerable string-keyed fields, an own `__proto__` too
     a hole in an array                     null; an array's named fields are left out
     a proxy                                as its target would be, read through its traps
   * a promise                              "[promise that was not awaited: use await or Promise.all]"
   * a value inside itself                  "[circular]"
   * more than 1,000 levels                 "[nested too deep]"
     a getter or toJSON that throws         throws what it threw
   * more text than the limit               cut short, and the outcome says so; json() and results.save throw instead */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

/* Deeper than people nest and far less than the native stack holds. */
enum { MAX_DEPTH = 1000 };

typedef struct {
  buffer *out;
  enum json_mode mode;
  void **path; /* the objects between the root and here */
  size_t depth, cap;
  void *room[16]; /* path, as long as it fits */
} writer;

static JSAtom atom_to_json;

void json_init(void) { atom_to_json = JS_NewAtom(ctx, "toJSON"); }

bool json_refused;

static int write_value(writer *w, JSValueConst v, bool in_array);

static void put(writer *w, const char *s) { buffer_puts(w->out, s); }

/* The index of the next byte from i on that a JSON string may have to escape: a control character, a quote, a backslash,
   or the first of what may be a lone surrogate. Eight bytes at a time: one turn of a loop takes about a nanosecond. */
static size_t run(const char *s, size_t i, size_t len) {
  for (; len - i >= 8; i += 8) {
    uint64_t w;
    memcpy(&w, s + i, 8);
    uint64_t low = w ^ TEXT_ONES * 2; /* makes the quote less than 0x21, as control characters are, and nothing else */
    uint64_t special = ((low - TEXT_ONES * 0x21) & ~low) | text_bytes_of(w, '\\') | text_bytes_of(w, 0xED);
    special &= TEXT_ONES * 0x80;
    if (special) return i + __builtin_ctzll(special) / 8;
  }
  while (i < len && (unsigned char)s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' && (unsigned char)s[i] != 0xED) i++;
  return i;
}

/* Text in, JSON string out. UTF-8 as the engine hands it over: a lone surrogate comes as its three-byte form, which is
   not UTF-8, and goes out as an escape. */
void json_write_string(buffer *b, const char *s, size_t len) {
  static const char hex[] = "0123456789abcdef";
  buffer_put(b, "\"", 1);
  size_t start = 0;
  for (size_t i = run(s, 0, len); i < len && !b->full; i = run(s, i + 1, len)) {
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

/* printf takes ten times as long. */
static void put_int(writer *w, int32_t n) {
  char text[12], *at = text + sizeof text;
  uint32_t rest = n < 0 ? -(uint32_t)n : n;
  do *--at = '0' + rest % 10;
  while (rest /= 10);
  if (n < 0) *--at = '-';
  buffer_put(w->out, at, text + sizeof text - at);
}

static int write_number(writer *w, JSValueConst v) {
  if (JS_VALUE_GET_TAG(v) == JS_TAG_INT) {
    put_int(w, JS_VALUE_GET_INT(v));
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

/* Elements are read by index each time: code of the cell may shorten the array or detach its buffer meanwhile, and then
   they are undefined. */
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
    int r = accessor ? (put_string(w, "[getter]"), 0) : write_value(w, item, true);
    JS_FreeValue(ctx, item);
    if (r < 0) return -1;
  }
  put(w, "]");
  return 0;
}

/* The name and message of an error, which are not enumerable and may be on its prototypes. */
static int write_error_head(writer *w, JSValueConst v, enum kind kind, bool *first) {
  static const char *const fields[] = {"name", "message"};
  for (int i = 0; i < 2; i++) {
    JSValue f;
    bool accessor = false;
    if (kind == KIND_DOM_EXCEPTION) {
      f = intrinsic(i ? DOM_EXCEPTION_MESSAGE : DOM_EXCEPTION_NAME, v);
    } else {
      JSAtom key = JS_NewAtom(ctx, fields[i]);
      f = get(w, v, key, &accessor);
      JS_FreeAtom(ctx, key);
    }
    if (JS_IsException(f)) return -1;
    if (JS_IsString(f)) {
      if (!*first) put(w, ",");
      *first = false;
      put_string(w, fields[i]);
      put(w, ":");
      write_js_string(w, f);
    }
    JS_FreeValue(ctx, f);
  }
  return 0;
}

/* An error's cause and errors, where it has them itself. They are not enumerable. */
static int write_error_tail(writer *w, JSValueConst v, bool first) {
  static const char *const fields[] = {"cause", "errors"};
  int r = 0;
  for (int i = 0; i < 2 && r == 0; i++) {
    JSAtom key = JS_NewAtom(ctx, fields[i]);
    JSPropertyDescriptor d;
    int has = JS_GetOwnProperty(ctx, &d, v, key);
    JS_FreeAtom(ctx, key);
    if (has < 0) return -1;
    if (!has) continue;
    if (d.flags & JS_PROP_GETSET) {
      JS_FreeValue(ctx, d.getter);
      JS_FreeValue(ctx, d.setter);
      continue;
    }
    if (!(d.flags & JS_PROP_ENUMERABLE) && has_json(w, d.value)) {
      if (!first) put(w, ",");
      first = false;
      put_string(w, fields[i]);
      put(w, ":");
      r = write_value(w, d.value, true);
    }
    JS_FreeValue(ctx, d.value);
  }
  return r;
}

/* Of an engine with the edits of quickjs/build/objects.go. */
__attribute__((weak)) int JS_FlatFields(JSContext *ctx, JSValueConst obj);
__attribute__((weak)) bool JS_FlatField(JSContext *ctx, JSValueConst obj, int i, const char **name, size_t *len, JSValueConst *value);

/* An object whose fields are all primitive data, read where it lies: nothing here runs code of the cell. */
static int write_flat(writer *w, JSValueConst v, int fields) {
  bool first = true;
  put(w, "{");
  for (int i = 0; i < fields && !w->out->full; i++) {
    const char *name;
    size_t len;
    JSValueConst value;
    if (!JS_FlatField(ctx, v, i, &name, &len, &value) || JS_IsUndefined(value)) continue;
    if (!first) put(w, ",");
    first = false;
    json_write_string(w->out, name, len);
    put(w, ":");
    if (write_value(w, value, false) < 0) return -1;
  }
  put(w, "}");
  return 0;
}

/* The names are taken before the first value is read. What the cell's code does to the object meanwhile can only make a
   name's value undefined. */
static int write_object(writer *w, JSValueConst v, enum kind kind) {
  JSPropertyEnum *keys = NULL;
  uint32_t count = 0;
  bool first = true, error = kind == KIND_ERROR || kind == KIND_DOM_EXCEPTION;
  put(w, "{");
  if (error && write_error_head(w, v, kind, &first) < 0) return -1;
  if (JS_GetOwnPropertyNames(ctx, &keys, &count, v, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) return -1;
  int r = 0;
  for (uint32_t i = 0; i < count && r == 0 && !w->out->full; i++) {
    size_t len;
    const char *name = JS_AtomToCStringLen(ctx, &len, keys[i].atom);
    if (!name) {
      r = -1;
      break;
    }
    if (!error || (strcmp(name, "name") && strcmp(name, "message"))) {
      bool accessor = false;
      JSValue f = get(w, v, keys[i].atom, &accessor);
      if (JS_IsException(f)) {
        r = -1;
      } else if (accessor || has_json(w, f) || JS_IsFunction(ctx, f)) {
        size_t mark = w->out->len;
        if (!first) put(w, ",");
        json_write_string(w->out, name, len);
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
    JS_FreeCString(ctx, name);
  }
  JS_FreePropertyEnum(ctx, keys, count);
  if (error && r == 0) r = write_error_tail(w, v, first);
  put(w, "}");
  return r;
}

/* A Map whose keys are all strings reads best as an object; any other as a list of pairs. */
static int write_map(writer *w, JSValueConst v) {
  JSValue pairs = kind_members(v);
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

static int write_set(writer *w, JSValueConst v) {
  JSValue items = kind_members(v);
  if (JS_IsException(items)) return -1;
  int64_t len = 0;
  JS_GetLength(ctx, items, &len);
  int r = write_array(w, items, len);
  JS_FreeValue(ctx, items);
  return r;
}

/* Nothing here runs code of the cell, so the bytes stay where they are. */
static int write_bytes(writer *w, JSValueConst v) {
  uint8_t *bytes;
  size_t len;
  kind_bytes(v, &bytes, &len);
  put(w, "[");
  for (size_t i = 0; i < len && !w->out->full; i++) {
    if (i) put(w, ",");
    put_int(w, bytes[i]);
  }
  put(w, "]");
  return 0;
}

static int write_string_of(writer *w, JSValue s) {
  if (JS_IsException(s)) return -1;
  int r = write_js_string(w, s);
  JS_FreeValue(ctx, s);
  return r;
}

/* The text of a regular expression. Its flags are read by name, which code of the cell may answer, so an error shows it
   without them. */
static int write_regexp(writer *w, JSValueConst v) {
  if (w->mode != JSON_SAFE) return write_string_of(w, JS_ToString(ctx, v));
  JSValue source = intrinsic(REGEXP_SOURCE, v);
  if (JS_IsException(source)) return -1;
  size_t len;
  const char *s = JS_ToCStringLen(ctx, &len, source);
  buffer text = {0};
  buffer_puts(&text, "/");
  if (s) buffer_put(&text, s, len);
  buffer_puts(&text, "/");
  json_write_string(w->out, text.ptr, text.len);
  buffer_free(&text);
  JS_FreeCString(ctx, s);
  JS_FreeValue(ctx, source);
  return 0;
}

/* Whether a proxy stands for an array, as Array.isArray says it. */
static bool proxies_array(JSValueConst v) {
  JSValue at = JS_DupValue(ctx, v);
  for (int hops = 0; hops < MAX_DEPTH && JS_IsProxy(at); hops++) {
    JSValue target = JS_GetProxyTarget(ctx, at);
    JS_FreeValue(ctx, at);
    at = target;
  }
  bool array = JS_IsArray(at);
  if (JS_IsException(at)) JS_FreeValue(ctx, JS_GetException(ctx)); /* revoked: reading it will say so */
  JS_FreeValue(ctx, at);
  return array;
}

static int write_listed(writer *w, JSValueConst v) {
  int64_t len;
  return JS_GetLength(ctx, v, &len) < 0 ? -1 : write_array(w, v, len);
}

static int write_plain(writer *w, JSValueConst v) {
  enum kind kind = kind_of(v);
  switch (kind) {
  case KIND_ARRAY: return write_listed(w, v);
  case KIND_PROXY: return proxies_array(v) ? write_listed(w, v) : write_object(w, v, kind);
  case KIND_MAP: return write_map(w, v);
  case KIND_SET: return write_set(w, v);
  case KIND_TYPED_ARRAY: return write_array(w, v, kind_length(v));
  case KIND_DATA_VIEW:
  case KIND_BUFFER:
  case KIND_SHARED_BUFFER: return write_bytes(w, v);
  case KIND_REGEXP: return write_regexp(w, v);
  default: break;
  }
  int fields = JS_FlatFields && kind == KIND_PLAIN ? JS_FlatFields(ctx, v) : -1;
  return fields < 0 ? write_object(w, v, kind) : write_flat(w, v, fields);
}

static int write_nested(writer *w, JSValueConst v) {
  void *self = JS_VALUE_GET_PTR(v);
  if (w->depth >= MAX_DEPTH) {
    if (w->mode == JSON_INPUT) {
      json_refused = true;
      JS_ThrowTypeError(ctx, "the input is nested more than %d levels deep", MAX_DEPTH);
      return -1;
    }
    put_string(w, "[nested too deep]");
    return 0;
  }
  for (size_t i = 0; i < w->depth; i++) {
    if (w->path[i] != self) continue;
    if (w->mode == JSON_INPUT) {
      json_refused = true;
      JS_ThrowTypeError(ctx, "the input contains itself (a circular reference); send a tree");
      return -1;
    }
    put_string(w, "[circular]");
    return 0;
  }
  if (w->depth == w->cap) {
    void **longer = realloc(w->path == w->room ? NULL : w->path, w->cap * 2 * sizeof *w->path);
    if (!longer) out_of_memory();
    if (w->path == w->room) memcpy(longer, w->room, sizeof w->room);
    w->path = longer;
    w->cap *= 2;
  }
  w->path[w->depth++] = self;
  int r = write_plain(w, v);
  w->depth--;
  return r;
}

static int write_boxed_or_object(writer *w, JSValueConst v) {
  enum kind kind = kind_of(v);
  if (kind == KIND_PROMISE) {
    if (w->mode == JSON_INPUT) {
      json_refused = true;
      JS_ThrowTypeError(ctx, "the input holds a promise; await it first");
      return -1;
    }
    put_string(w, "[promise that was not awaited: use await or Promise.all]");
    return 0;
  }
  if (w->mode == JSON_SAFE) {
    if (kind == KIND_PROXY) return put_string(w, "[proxy]"), 0;
    if (kind == KIND_DATE) {
      JSValue s = intrinsic(DATE_ISO, v);
      if (!JS_IsException(s)) return write_string_of(w, s);
      JS_FreeValue(ctx, JS_GetException(ctx));
      return put(w, "null"), 0;
    }
  } else {
    JSValue f = JS_GetProperty(ctx, v, atom_to_json);
    if (JS_IsException(f)) return -1;
    if (JS_IsFunction(ctx, f)) {
      JSValue plain = JS_Call(ctx, f, v, 0, NULL);
      JS_FreeValue(ctx, f);
      if (JS_IsException(plain)) return -1;
      /* toJSON that answers with an object is not asked again, as JSON.stringify does not. */
      int r = JS_IsObject(plain) && !JS_IsFunction(ctx, plain) && !JS_IsPromise(plain) ? write_nested(w, plain)
                                                                                      : write_value(w, plain, true);
      JS_FreeValue(ctx, plain);
      return r;
    }
    JS_FreeValue(ctx, f);
  }
  if (kind < KIND_NUMBER || kind >= KIND_SYMBOL) return write_nested(w, v);
  JSValue primitive = kind_unbox(v, kind);
  if (JS_IsException(primitive)) return -1;
  int r = write_value(w, primitive, true);
  JS_FreeValue(ctx, primitive);
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
      json_refused = true;
      JS_ThrowTypeError(ctx, "the input holds a BigInt, which JSON cannot carry; send Number(x) or String(x)");
      return -1;
    }
    return write_string_of(w, JS_ToString(ctx, v));
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
  writer w;
  w.out = b, w.mode = mode, w.path = w.room, w.depth = 0, w.cap = sizeof w.room / sizeof *w.room;
  int r = write_value(&w, v, true);
  if (w.path != w.room) free(w.path);
  return r;
}
