/* What a value is, told by the engine's own classes and read by the engine's own functions, taken before a cell can
   replace them: a cell that redefines Map.prototype.entries or Symbol.hasInstance changes nothing here, and nothing here
   runs its code. */
#include "guest.h"

#include <string.h>

static JSClassID plain_class, shared_buffer_class, dom_exception_class, boxed_classes[5];
static JSValue functions[INTRINSICS];

/* A function by its path from the global object, or the getter where the path begins with "get ". */
static JSValue find(JSValueConst global, const char *path) {
  bool getter = strncmp(path, "get ", 4) == 0;
  if (getter) path += 4;
  JSValue at = JS_DupValue(ctx, global), found = JS_UNDEFINED;
  for (;;) {
    size_t len = strcspn(path, ".");
    JSAtom key = JS_NewAtomLen(ctx, path, len);
    if (!path[len] && getter) {
      JSPropertyDescriptor d;
      if (JS_GetOwnProperty(ctx, &d, at, key) > 0) {
        found = d.getter;
        JS_FreeValue(ctx, d.setter);
      }
    } else {
      found = JS_GetProperty(ctx, at, key);
    }
    JS_FreeAtom(ctx, key);
    JS_FreeValue(ctx, at);
    if (!path[len]) return found;
    at = found;
    path += len + 1;
  }
}

/* The class of what a snippet of ours evaluates to. */
static JSValue sample(const char *source) {
  return JS_Eval(ctx, source, strlen(source), PRELUDE_FILE, JS_EVAL_TYPE_GLOBAL);
}

static JSClassID class_of(const char *source) {
  JSValue v = sample(source);
  JSClassID class = JS_GetClassID(v);
  JS_FreeValue(ctx, v);
  return class;
}

void kinds_init(void) {
  static const char *const paths[INTRINSICS] = {
      [MAP_ENTRIES] = "Map.prototype.entries",
      [SET_VALUES] = "Set.prototype.values",
      [DATE_ISO] = "Date.prototype.toISOString",
      [REGEXP_SOURCE] = "get RegExp.prototype.source",
      [SYMBOL_TEXT] = "Symbol.prototype.toString",
      [NUMBER_VALUE] = "Number.prototype.valueOf",
      [STRING_VALUE] = "String.prototype.valueOf",
      [BOOLEAN_VALUE] = "Boolean.prototype.valueOf",
      [BIGINT_VALUE] = "BigInt.prototype.valueOf",
      [SYMBOL_VALUE] = "Symbol.prototype.valueOf",
      [DOM_EXCEPTION_NAME] = "get DOMException.prototype.name",
      [DOM_EXCEPTION_MESSAGE] = "get DOMException.prototype.message",
      [VIEW_BUFFER] = "get DataView.prototype.buffer",
      [VIEW_OFFSET] = "get DataView.prototype.byteOffset",
      [VIEW_LENGTH] = "get DataView.prototype.byteLength",
      [TYPED_LENGTH] = "get Uint8Array.__proto__.prototype.length",
      [TYPED_OFFSET] = "get Uint8Array.__proto__.prototype.byteOffset",
      [TYPED_BYTES] = "get Uint8Array.__proto__.prototype.byteLength",
      [ERROR_STACK] = "get Error.prototype.stack", /* since 0.17; before, errors have the text itself */
  };
  JSValue global = JS_GetGlobalObject(ctx);
  for (int i = 0; i < INTRINSICS; i++) functions[i] = paths[i] ? find(global, paths[i]) : JS_UNDEFINED;
  JS_FreeValue(ctx, global);
  static const struct { enum intrinsic which; const char *source; } next[] = {
      {MAP_NEXT, "new Map().entries().next"}, {SET_NEXT, "new Set().values().next"}};
  for (int i = 0; i < 2; i++) functions[next[i].which] = sample(next[i].source);

  plain_class = class_of("({})");
  shared_buffer_class = class_of("new SharedArrayBuffer(0)");
  dom_exception_class = class_of("new DOMException");
  static const char *const boxed[] = {"Object(1)", "Object('')", "Object(true)", "Object(1n)", "Object(Symbol.iterator)"};
  for (int i = 0; i < 5; i++) boxed_classes[i] = class_of(boxed[i]);
}

JSValue intrinsic(enum intrinsic which, JSValueConst self) {
  return JS_IsFunction(ctx, functions[which]) ? JS_Call(ctx, functions[which], self, 0, NULL) : JS_UNDEFINED;
}

enum kind kind_of(JSValueConst v) {
  if (!JS_IsObject(v)) return KIND_PRIMITIVE;
  if (JS_IsProxy(v)) return KIND_PROXY;
  if (JS_IsFunction(ctx, v)) return KIND_FUNCTION;
  if (JS_IsArray(v)) return KIND_ARRAY;
  JSClassID class = JS_GetClassID(v);
  if (class == plain_class) return KIND_PLAIN;
  if (JS_IsError(v)) return KIND_ERROR;
  if (class == dom_exception_class) return KIND_DOM_EXCEPTION;
  if (JS_IsPromise(v)) return KIND_PROMISE;
  if (JS_IsDate(v)) return KIND_DATE;
  if (JS_IsMap(v)) return KIND_MAP;
  if (JS_IsSet(v)) return KIND_SET;
  if (JS_GetTypedArrayType(v) >= 0) return KIND_TYPED_ARRAY;
  if (JS_IsDataView(v)) return KIND_DATA_VIEW;
  if (JS_IsArrayBuffer(v)) return KIND_BUFFER;
  if (class == shared_buffer_class) return KIND_SHARED_BUFFER;
  if (JS_IsRegExp(v)) return KIND_REGEXP;
  for (int i = 0; i < 5; i++)
    if (class == boxed_classes[i]) return KIND_NUMBER + i;
  return KIND_OTHER;
}

JSValue kind_unbox(JSValueConst v, enum kind kind) { return intrinsic(NUMBER_VALUE + (kind - KIND_NUMBER), v); }

JSValue kind_members(JSValueConst v) {
  bool map = JS_IsMap(v);
  JSValue it = intrinsic(map ? MAP_ENTRIES : SET_VALUES, v);
  if (JS_IsException(it)) return it;
  JSValue array = JS_NewArray(ctx);
  /* The engine's iterators answer with objects of two own properties: reading them runs nothing. */
  for (uint32_t i = 0;; i++) {
    JSValue step = intrinsic(map ? MAP_NEXT : SET_NEXT, it);
    JSValue done = JS_IsException(step) ? JS_EXCEPTION : JS_GetPropertyStr(ctx, step, "done");
    int end = JS_IsException(done) ? -1 : JS_ToBool(ctx, done);
    JS_FreeValue(ctx, done);
    if (end == 0) JS_DefinePropertyValueUint32(ctx, array, i, JS_GetPropertyStr(ctx, step, "value"), JS_PROP_C_W_E);
    JS_FreeValue(ctx, step);
    if (end == 0) continue;
    JS_FreeValue(ctx, it);
    if (end > 0) return array;
    JS_FreeValue(ctx, array);
    return JS_EXCEPTION;
  }
}

/* A whole number that an engine's getter answers with; 0 where it refuses, as for a detached buffer. */
static size_t number(enum intrinsic which, JSValueConst v) {
  JSValue n = intrinsic(which, v);
  int64_t value = 0;
  if (JS_IsException(n))
    JS_FreeValue(ctx, JS_GetException(ctx));
  else
    JS_ToInt64(ctx, &value, n);
  JS_FreeValue(ctx, n);
  return value < 0 ? 0 : (size_t)value;
}

int64_t kind_length(JSValueConst v) { return (int64_t)number(TYPED_LENGTH, v); }

bool kind_bytes(JSValueConst v, uint8_t **bytes, size_t *len) {
  enum kind kind = kind_of(v);
  size_t offset = 0, length = SIZE_MAX, size;
  JSValue buffer;
  *bytes = NULL;
  *len = 0;
  switch (kind) {
  case KIND_BUFFER:
  case KIND_SHARED_BUFFER: buffer = JS_DupValue(ctx, v); break;
  case KIND_TYPED_ARRAY:
    buffer = JS_GetTypedArrayBuffer(ctx, v, NULL, NULL, NULL);
    offset = number(TYPED_OFFSET, v);
    length = number(TYPED_BYTES, v);
    break;
  case KIND_DATA_VIEW:
    buffer = intrinsic(VIEW_BUFFER, v);
    offset = number(VIEW_OFFSET, v);
    length = number(VIEW_LENGTH, v);
    break;
  default: return false;
  }
  uint8_t *start = JS_IsException(buffer) ? NULL : JS_GetArrayBuffer(ctx, &size, buffer);
  if (!start) {
    JS_FreeValue(ctx, JS_GetException(ctx)); /* detached, or out of its buffer's bounds: no bytes */
  } else if (offset <= size) {
    *bytes = start + offset;
    *len = length < size - offset ? length : size - offset;
  }
  JS_FreeValue(ctx, buffer);
  return true;
}
