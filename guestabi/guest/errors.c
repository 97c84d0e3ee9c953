/* What a thrown value says, as JSON for the host: {name, message, stack, fields, cause, errors} for an error object,
   {thrown} for anything else. Nothing here runs code of the cell: getters, proxies and toString are not called, since a
   cell that failed must not run on. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CAUSES = 8, MAX_ERRORS = 16, MAX_TEXT = 64 * 1024, MAX_FIELDS = 32, MAX_FIELD = 8 * 1024 };

/* What may still be written of the value being described: causes and errors can hold each other, so that depth alone
   bounds nothing. */
static size_t left;

static void describe(buffer *b, JSValueConst thrown, int depth);

static JSValue error_proto = JS_UNDEFINED;
static JSClassID error_class;

void errors_init(void) {
  JSValue error = JS_NewError(ctx);
  error_proto = JS_GetPrototype(ctx, error);
  error_class = JS_GetClassID(error);
  JS_FreeValue(ctx, error);
}

static void forget_exception(void) { JS_FreeValue(ctx, JS_GetException(ctx)); }

/* The data property of an object or of its prototypes; undefined where there is none. *accessor says that a getter
   stands there first, *own that the object has it itself. */
static JSValue data_property(JSValueConst object, JSAtom key, bool *accessor, bool *own) {
  JSValue at = JS_DupValue(ctx, object), found = JS_UNDEFINED;
  *accessor = *own = false;
  for (int hops = 0; hops < 16 && JS_IsObject(at) && !JS_IsProxy(at); hops++) {
    JSPropertyDescriptor d;
    int r = JS_GetOwnProperty(ctx, &d, at, key);
    if (r < 0) forget_exception();
    if (r != 0) {
      *own = hops == 0;
      if (r > 0 && !(d.flags & JS_PROP_GETSET)) found = d.value;
      if (r > 0 && (d.flags & JS_PROP_GETSET)) {
        *accessor = true;
        JS_FreeValue(ctx, d.getter);
        JS_FreeValue(ctx, d.setter);
      }
      break;
    }
    JSValue proto = JS_GetPrototype(ctx, at);
    JS_FreeValue(ctx, at);
    at = proto;
  }
  JS_FreeValue(ctx, at);
  return found;
}

static JSValue named(JSValueConst object, const char *name, bool *accessor, bool *own) {
  JSAtom key = JS_NewAtom(ctx, name);
  JSValue v = data_property(object, key, accessor, own);
  JS_FreeAtom(ctx, key);
  return v;
}

JSValue error_blank(void) { return JS_NewObjectProtoClass(ctx, error_proto, error_class); }

JSValue error_stack(JSValueConst error) {
  bool accessor, own;
  JSValue stack = named(error, "stack", &accessor, &own);
  if (!own || accessor) {
    JS_FreeValue(ctx, stack);
    stack = JS_IsError(error) ? intrinsic(ERROR_STACK, error) : JS_UNDEFINED;
  }
  if (JS_IsException(stack)) {
    forget_exception();
    stack = JS_UNDEFINED;
  }
  return stack;
}

/* The name of the class that an object is an instance of; undefined where code would have to run to know it. */
static JSValue class_name(JSValueConst object) {
  bool accessor, own;
  JSValue constructor = named(object, "constructor", &accessor, &own), name = JS_UNDEFINED;
  if (JS_IsFunction(ctx, constructor) && !JS_IsProxy(constructor)) name = named(constructor, "name", &accessor, &own);
  JS_FreeValue(ctx, constructor);
  return name;
}

/* The start of text, ending at a whole code point. */
static size_t clip(const char *text, size_t len, size_t most) {
  if (len <= most) return len;
  while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80) most--;
  return most;
}

static void key(buffer *b, const char *name, size_t len, bool *first) {
  if (!*first) buffer_puts(b, ",");
  *first = false;
  json_write_string(b, name, len);
  buffer_puts(b, ":");
}

static void spend(size_t bytes) { left -= bytes < left ? bytes : left; }

/* A member whose value is text, where v is a string. */
static void text_member(buffer *b, const char *name, JSValueConst v, bool *first) {
  if (!JS_IsString(v)) return;
  size_t len;
  const char *s = JS_ToCStringLen(ctx, &len, v);
  if (!s) {
    forget_exception();
    return;
  }
  size_t most = clip(s, len, left < MAX_TEXT ? left : MAX_TEXT);
  key(b, name, strlen(name), first);
  if (most < len) {
    buffer cut = {0};
    buffer_put(&cut, s, most);
    buffer_puts(&cut, "…[truncated]");
    json_write_string(b, cut.ptr, cut.len);
    buffer_free(&cut);
  } else {
    json_write_string(b, s, len);
  }
  spend(most);
  JS_FreeCString(ctx, s);
}

static void literal_member(buffer *b, const char *name, const char *text, bool *first) {
  key(b, name, strlen(name), first);
  json_write_string(b, text, strlen(text));
}

/* A value as JSON text inside a JSON object; text of its start where it is large. */
static void value_member(buffer *b, const char *name, size_t name_len, JSValueConst v, bool *first) {
  buffer text = {.limit = left < MAX_FIELD ? left + 1 : MAX_FIELD};
  if (json_write(&text, v, JSON_SAFE) < 0) forget_exception();
  if (text.len) {
    key(b, name, name_len, first);
    if (text.full)
      json_write_string(b, text.ptr, text.len); /* a prefix is not JSON */
    else
      buffer_put(b, text.ptr, text.len);
    spend(text.len);
  }
  buffer_free(&text);
}

static void name_member(buffer *b, JSValueConst e, bool *first) {
  bool accessor, own;
  JSValue name = named(e, "name", &accessor, &own);
  /* Where the name says no more than Error, and where it is a getter, the class says more. */
  bool plain = false;
  if (JS_IsString(name) && !own) {
    const char *s = JS_ToCString(ctx, name);
    plain = s && !strcmp(s, "Error");
    JS_FreeCString(ctx, s);
  }
  if (accessor || plain) {
    JSValue class = class_name(e);
    bool better = JS_IsString(class);
    if (better) {
      const char *s = JS_ToCString(ctx, class);
      better = s && *s;
      JS_FreeCString(ctx, s);
    }
    if (better) {
      JS_FreeValue(ctx, name);
      name = class;
    } else {
      JS_FreeValue(ctx, class);
    }
  }
  text_member(b, "name", name, first);
  JS_FreeValue(ctx, name);
}

static void message_member(buffer *b, JSValueConst e, bool *first) {
  bool accessor, own;
  JSValue message = named(e, "message", &accessor, &own);
  if (accessor) {
    literal_member(b, "message", "[getter]", first);
  } else if (JS_IsString(message)) {
    text_member(b, "message", message, first);
  } else if (!JS_IsUndefined(message)) {
    buffer text = {.limit = left < MAX_FIELD ? left + 1 : MAX_FIELD};
    if (json_write(&text, message, JSON_SAFE) < 0) forget_exception();
    key(b, "message", 7, first);
    json_write_string(b, text.len ? text.ptr : "", text.len);
    spend(text.len);
    buffer_free(&text);
  }
  JS_FreeValue(ctx, message);
}

/* Enumerable own fields: code, status, response... */
static void fields_member(buffer *b, JSValueConst e, bool *first) {
  static const char *const shown[] = {"name", "message", "stack", "cause", "errors"};
  JSPropertyEnum *keys = NULL;
  uint32_t count = 0;
  if (JS_GetOwnPropertyNames(ctx, &keys, &count, e, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) {
    forget_exception();
    return;
  }
  bool none = true;
  for (uint32_t i = 0; i < count && i < MAX_FIELDS && left > 0; i++) {
    size_t len;
    const char *name = JS_AtomToCStringLen(ctx, &len, keys[i].atom);
    if (!name) continue;
    bool accessor, own, skip = len > MAX_FIELD;
    for (int k = 0; k < 5; k++) skip = skip || !strcmp(name, shown[k]);
    JSValue v = data_property(e, keys[i].atom, &accessor, &own);
    if (!skip && !JS_IsUndefined(v) && !JS_IsSymbol(v) && !JS_IsFunction(ctx, v)) {
      if (none) {
        key(b, "fields", 6, first);
        buffer_puts(b, "{");
      }
      value_member(b, name, len, v, &none);
      spend(len);
    }
    JS_FreeValue(ctx, v);
    JS_FreeCString(ctx, name);
  }
  if (!none) buffer_puts(b, "}");
  JS_FreePropertyEnum(ctx, keys, count);
}

static void errors_member(buffer *b, JSValueConst errors, int depth, bool *first) {
  int64_t len = 0;
  JS_GetLength(ctx, errors, &len);
  key(b, "errors", 6, first);
  buffer_puts(b, "[");
  for (int64_t i = 0; i < len && i < MAX_ERRORS && (i == 0 || left > 0); i++) {
    JSAtom index = JS_NewAtomUInt32(ctx, (uint32_t)i);
    bool accessor, own;
    JSValue v = data_property(errors, index, &accessor, &own);
    JS_FreeAtom(ctx, index);
    if (i) buffer_puts(b, ",");
    if (accessor)
      buffer_puts(b, "{\"text\":\"[getter]\"}");
    else
      describe(b, v, depth + 1);
    JS_FreeValue(ctx, v);
  }
  buffer_puts(b, "]");
}

/* What a SuppressedError holds: the error of a disposal, and the one that it came after. */
static void suppressed_member(buffer *b, JSValueConst e, int depth, bool *first) {
  bool accessor, both, own;
  JSValue error = named(e, "error", &accessor, &own), suppressed = JS_UNDEFINED;
  both = own && !accessor;
  if (both) suppressed = named(e, "suppressed", &accessor, &own);
  if (both && own && !accessor) {
    key(b, "errors", 6, first);
    buffer_puts(b, "[");
    describe(b, error, depth + 1);
    buffer_puts(b, ",");
    describe(b, suppressed, depth + 1);
    buffer_puts(b, "]");
  }
  JS_FreeValue(ctx, error);
  JS_FreeValue(ctx, suppressed);
}

static void describe_error(buffer *b, JSValueConst e, int depth) {
  bool first = true, accessor, own;
  if (kind_of(e) == KIND_DOM_EXCEPTION) {
    JSValue name = intrinsic(DOM_EXCEPTION_NAME, e), message = intrinsic(DOM_EXCEPTION_MESSAGE, e);
    text_member(b, "name", name, &first);
    text_member(b, "message", message, &first);
    JS_FreeValue(ctx, name);
    JS_FreeValue(ctx, message);
  } else {
    name_member(b, e, &first);
    message_member(b, e, &first);
  }
  JSValue stack = error_stack(e);
  text_member(b, "stack", stack, &first);
  JS_FreeValue(ctx, stack);
  fields_member(b, e, &first);
  JSValue cause = named(e, "cause", &accessor, &own);
  if (own && !accessor && depth < MAX_CAUSES && left > 0) {
    key(b, "cause", 5, &first);
    describe(b, cause, depth + 1);
  }
  JS_FreeValue(ctx, cause);
  JSValue errors = named(e, "errors", &accessor, &own);
  if (JS_IsArray(errors) && depth < MAX_CAUSES && left > 0)
    errors_member(b, errors, depth, &first);
  else if (depth < MAX_CAUSES && left > 0)
    suppressed_member(b, e, depth, &first);
  JS_FreeValue(ctx, errors);
}

/* Whether a plain object has a message: one that came as JSON, say. It is shown like an error. */
static bool has_message(JSValueConst object) {
  bool accessor, own;
  JSValue message = named(object, "message", &accessor, &own);
  int64_t len = 0;
  if (JS_IsString(message)) JS_GetLength(ctx, message, &len);
  JS_FreeValue(ctx, message);
  return len > 0;
}

static void describe_function(buffer *b, JSValueConst function) {
  bool first = true, accessor, own;
  JSValue name = named(function, "name", &accessor, &own);
  const char *s = JS_IsString(name) ? JS_ToCString(ctx, name) : NULL;
  buffer text = {0};
  buffer_puts(&text, "a function");
  if (s && *s) {
    buffer_puts(&text, ": ");
    buffer_put(&text, s, clip(s, strlen(s), 512));
  }
  key(b, "text", 4, &first);
  json_write_string(b, text.ptr, text.len);
  buffer_free(&text);
  JS_FreeCString(ctx, s);
  JS_FreeValue(ctx, name);
}

static void describe_symbol(buffer *b, JSValueConst symbol) {
  bool first = true;
  JSValue v = intrinsic(SYMBOL_TEXT, symbol);
  const char *s = JS_IsString(v) ? JS_ToCString(ctx, v) : NULL;
  buffer text = {0};
  if (s) buffer_put(&text, s, clip(s, strlen(s), 512));
  key(b, "text", 4, &first);
  json_write_string(b, text.ptr, text.len);
  buffer_free(&text);
  JS_FreeCString(ctx, s);
  JS_FreeValue(ctx, v);
}

static void describe(buffer *b, JSValueConst thrown, int depth) {
  bool first = true;
  enum kind kind = kind_of(thrown);
  spend(32); /* so that many small things end as well */
  buffer_puts(b, "{");
  if (kind == KIND_ERROR || kind == KIND_DOM_EXCEPTION || (kind == KIND_PLAIN && has_message(thrown)))
    describe_error(b, thrown, depth);
  else if (kind == KIND_FUNCTION)
    describe_function(b, thrown);
  else if (JS_IsString(thrown))
    text_member(b, "text", thrown, &first);
  else if (JS_IsSymbol(thrown))
    describe_symbol(b, thrown);
  else if (JS_IsUndefined(thrown))
    literal_member(b, "text", "undefined", &first);
  else
    value_member(b, "thrown", 6, thrown, &first);
  buffer_puts(b, "}");
}

void error_describe(buffer *b, JSValueConst thrown, size_t most) {
  left = most;
  describe(b, thrown, 0);
}

void error_site(JSValueConst error, uint32_t *line, uint32_t *column) {
  *line = *column = 0;
  /* The engine's getter first: this is on the way of every call, and an error made just now has nothing of its own. */
  JSValue stack = intrinsic(ERROR_STACK, error);
  if (!JS_IsString(stack)) {
    if (JS_IsException(stack)) forget_exception();
    stack = error_stack(error);
  }
  const char *s = JS_IsString(stack) ? JS_ToCString(ctx, stack) : NULL;
  static const char place[] = "(" CELL_FILE ":";
  const char *at = s;
  while (at && (at = strchr(at, '(')) && strncmp(at, place, sizeof place - 1)) at++; /* strstr would make tables first */
  if (at) {
    at += sizeof place - 1;
    for (; *at >= '0' && *at <= '9'; at++) *line = *line * 10 + (*at - '0');
    if (*at++ == ':')
      for (; *at >= '0' && *at <= '9'; at++) *column = *column * 10 + (*at - '0');
  }
  JS_FreeCString(ctx, s);
  JS_FreeValue(ctx, stack);
}
