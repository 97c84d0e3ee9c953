/* What a thrown value says, as JSON for the host: {name, message, stack, fields, cause, errors} for an error object,
   {thrown} for anything else. Nothing here runs code of the cell: getters, proxies and toString are not called, since a
   cell that failed must not run on. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CAUSES = 8, MAX_ERRORS = 16, MAX_TEXT = 64 * 1024, MAX_FIELDS = 8 * 1024 };

static void describe(buffer *b, JSValueConst thrown, int depth);

/* The engine's own getter of `stack`, which an error's prototype has since 0.17; before, errors have the text itself. */
static JSValue stack_getter = JS_UNDEFINED;

void errors_init(void) {
  JSPropertyDescriptor d;
  JSValue error = JS_NewError(ctx), proto = JS_GetPrototype(ctx, error);
  JSAtom key = JS_NewAtom(ctx, "stack");
  if (JS_GetOwnProperty(ctx, &d, proto, key) > 0 && (d.flags & JS_PROP_GETSET)) {
    stack_getter = d.getter;
    JS_FreeValue(ctx, d.setter);
  }
  JS_FreeAtom(ctx, key);
  JS_FreeValue(ctx, proto);
  JS_FreeValue(ctx, error);
}

/* The data property of an object or of its prototypes, as a string value; undefined where it is anything else. */
static JSValue data_property(JSValueConst object, const char *name) {
  JSAtom key = JS_NewAtom(ctx, name);
  JSValue at = JS_DupValue(ctx, object), found = JS_UNDEFINED;
  for (int hops = 0; hops < 16 && JS_IsObject(at) && !JS_IsProxy(at); hops++) {
    JSPropertyDescriptor d;
    int r = JS_GetOwnProperty(ctx, &d, at, key);
    if (r < 0) JS_FreeValue(ctx, JS_GetException(ctx));
    if (r != 0) {
      if (r > 0 && !(d.flags & JS_PROP_GETSET)) found = d.value;
      if (r > 0 && (d.flags & JS_PROP_GETSET)) JS_FreeValue(ctx, d.getter), JS_FreeValue(ctx, d.setter);
      break;
    }
    JSValue proto = JS_GetPrototype(ctx, at);
    JS_FreeValue(ctx, at);
    at = proto;
  }
  JS_FreeValue(ctx, at);
  JS_FreeAtom(ctx, key);
  return found;
}

/* An error's stack, where it is text. */
static JSValue stack_of(JSValueConst error) {
  JSValue stack = data_property(error, "stack");
  if (JS_IsUndefined(stack) && JS_IsFunction(ctx, stack_getter)) stack = JS_Call(ctx, stack_getter, error, 0, NULL);
  if (JS_IsException(stack)) {
    JS_FreeValue(ctx, JS_GetException(ctx));
    stack = JS_UNDEFINED;
  }
  return stack;
}

/* The start of text, ending at a whole code point. */
static size_t clip(const char *text, size_t len, size_t most) {
  if (len <= most) return len;
  while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80) most--;
  return most;
}

static void member(buffer *b, const char *name, JSValueConst v, bool *first) {
  if (!JS_IsString(v)) return;
  size_t len;
  const char *s = JS_ToCStringLen(ctx, &len, v);
  if (!s) {
    JS_FreeValue(ctx, JS_GetException(ctx));
    return;
  }
  if (!*first) buffer_puts(b, ",");
  *first = false;
  json_write_string(b, name, strlen(name));
  buffer_puts(b, ":");
  json_write_string(b, s, clip(s, len, MAX_TEXT));
  JS_FreeCString(ctx, s);
}

/* A value as JSON text inside a JSON object, whole or not at all. */
static void value_member(buffer *b, const char *name, JSValueConst v, bool *first) {
  buffer text = {.limit = MAX_FIELDS};
  if (json_write(&text, v, JSON_SAFE) < 0) JS_FreeValue(ctx, JS_GetException(ctx));
  if (text.len) {
    if (!*first) buffer_puts(b, ",");
    *first = false;
    json_write_string(b, name, strlen(name));
    buffer_puts(b, ":");
    if (text.full)
      json_write_string(b, text.ptr, text.len); /* a prefix is not JSON: show it as text */
    else
      buffer_put(b, text.ptr, text.len);
  }
  buffer_free(&text);
}

static void describe_error(buffer *b, JSValueConst e, int depth) {
  bool first = true;
  static const char *const texts[] = {"name", "message"};
  for (int i = 0; i < 2; i++) {
    JSValue v = data_property(e, texts[i]);
    member(b, texts[i], v, &first);
    JS_FreeValue(ctx, v);
  }
  JSValue stack = stack_of(e);
  member(b, "stack", stack, &first);
  JS_FreeValue(ctx, stack);
  /* Enumerable own fields: code, status, response... */
  JSPropertyEnum *keys = NULL;
  uint32_t count = 0;
  if (JS_GetOwnPropertyNames(ctx, &keys, &count, e, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) {
    JS_FreeValue(ctx, JS_GetException(ctx));
    count = 0;
  }
  bool any = false;
  for (uint32_t i = 0; i < count && i < 32; i++) {
    const char *name = JS_AtomToCString(ctx, keys[i].atom);
    if (!name) continue;
    JSValue v = data_property(e, name);
    if (strcmp(name, "name") && strcmp(name, "message") && strcmp(name, "stack") && strcmp(name, "cause") &&
        strcmp(name, "errors") && !JS_IsUndefined(v) && !JS_IsFunction(ctx, v)) {
      if (!any) {
        buffer_puts(b, first ? "\"fields\":{" : ",\"fields\":{");
        any = true;
        first = true;
      }
      value_member(b, name, v, &first);
    }
    JS_FreeValue(ctx, v);
    JS_FreeCString(ctx, name);
  }
  if (any) buffer_puts(b, "}");
  first = first && !any;
  JS_FreePropertyEnum(ctx, keys, count);

  JSValue cause = data_property(e, "cause");
  if (!JS_IsUndefined(cause) && depth < MAX_CAUSES) {
    buffer_puts(b, first ? "\"cause\":" : ",\"cause\":");
    first = false;
    describe(b, cause, depth + 1);
  }
  JS_FreeValue(ctx, cause);
  JSValue errors = data_property(e, "errors");
  if (JS_IsArray(errors) && depth < MAX_CAUSES) {
    int64_t len = 0;
    JS_GetLength(ctx, errors, &len);
    buffer_puts(b, first ? "\"errors\":[" : ",\"errors\":[");
    for (int64_t i = 0; i < len && i < MAX_ERRORS; i++) {
      JSAtom key = JS_NewAtomUInt32(ctx, (uint32_t)i);
      JSPropertyDescriptor d;
      if (i) buffer_puts(b, ",");
      int r = JS_GetOwnProperty(ctx, &d, errors, key);
      if (r > 0 && !(d.flags & JS_PROP_GETSET)) {
        describe(b, d.value, depth + 1);
        JS_FreeValue(ctx, d.value);
      } else {
        buffer_puts(b, "{}");
      }
      JS_FreeAtom(ctx, key);
    }
    buffer_puts(b, "]");
  }
  JS_FreeValue(ctx, errors);
}

static void describe(buffer *b, JSValueConst thrown, int depth) {
  buffer_puts(b, "{");
  bool first = true;
  if (JS_IsError(thrown)) {
    describe_error(b, thrown, depth);
  } else if (JS_IsString(thrown)) {
    member(b, "text", thrown, &first);
  } else if (JS_IsSymbol(thrown)) {
    buffer_puts(b, "\"text\":\"a symbol\"");
  } else if (JS_IsUndefined(thrown)) {
    buffer_puts(b, "\"text\":\"undefined\"");
  } else if (JS_IsFunction(ctx, thrown)) {
    buffer_puts(b, "\"text\":\"a function\"");
  } else {
    if (JS_IsObject(thrown) && !JS_IsProxy(thrown)) {
      /* Objects made like errors, DOMException among them: show what an error would show. */
      JSValue name = data_property(thrown, "name"), message = data_property(thrown, "message");
      if (JS_IsString(message)) {
        member(b, "name", name, &first);
        member(b, "message", message, &first);
      }
      JS_FreeValue(ctx, name);
      JS_FreeValue(ctx, message);
    }
    value_member(b, "thrown", thrown, &first);
  }
  buffer_puts(b, "}");
}

void error_describe(buffer *b, JSValueConst thrown) { describe(b, thrown, 0); }

void error_site(JSValueConst error, uint32_t *line, uint32_t *column) {
  *line = *column = 0;
  JSValue stack = stack_of(error);
  const char *s = JS_IsString(stack) ? JS_ToCString(ctx, stack) : NULL;
  const char *at = s ? strstr(s, "(" CELL_FILE ":") : NULL;
  if (at) {
    char *end;
    at += sizeof("(" CELL_FILE ":") - 1;
    *line = strtoul(at, &end, 10);
    if (*end == ':') *column = strtoul(end + 1, NULL, 10);
  }
  JS_FreeCString(ctx, s);
  JS_FreeValue(ctx, stack);
}
