/* The cell's requests to the host: tool calls, searches, timers, yields. Each has a number, new for every request, and
   a pair of functions that its answer calls. They live in C, so that a cell can neither see nor forge an answer. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  uint32_t id;
  bool timer;
  JSValue resolve, reject;
  JSValue error;   /* made at the call, so that a failure names the line that asked */
  JSValue convert; /* makes the promise's value of the answer, where it is a function */
} request;

static request *pending;
static size_t pending_len, pending_cap;
static uint32_t last_id;

static request *add(void) {
  if (pending_len == pending_cap) {
    pending_cap = pending_cap ? pending_cap * 2 : 32;
    pending = realloc(pending, pending_cap * sizeof *pending);
    if (!pending) out_of_memory();
  }
  request *r = &pending[pending_len++];
  *r = (request){.id = ++last_id, .resolve = JS_UNDEFINED, .reject = JS_UNDEFINED, .error = JS_UNDEFINED,
                  .convert = JS_UNDEFINED};
  return r;
}

void requests_reset(void) { last_id = 0; }

static bool take(uint32_t id, request *out) {
  for (size_t i = 0; i < pending_len; i++) {
    if (pending[i].id != id) continue;
    *out = pending[i];
    memmove(&pending[i], &pending[i + 1], (pending_len - i - 1) * sizeof *pending);
    pending_len--;
    return true;
  }
  return false;
}

static void release(request *r) {
  JS_FreeValue(ctx, r->resolve);
  JS_FreeValue(ctx, r->reject);
  JS_FreeValue(ctx, r->error);
  JS_FreeValue(ctx, r->convert);
}

/* A promise and the request that settles it. */
static JSValue promise(uint32_t *id, uint32_t *line, uint32_t *column) {
  JSValue functions[2];
  JSValue p = JS_NewPromiseCapability(ctx, functions);
  if (JS_IsException(p)) return p;
  request *r = add();
  r->resolve = functions[0];
  r->reject = functions[1];
  r->error = JS_NewError(ctx);
  error_site(r->error, line, column);
  *id = r->id;
  return p;
}

/* A promise rejected with the pending exception: what is asynchronous must not throw where it is called. */
static JSValue rejected(void) {
  JSValue error = JS_GetException(ctx);
  if (JS_IsUncatchableError(error)) return JS_Throw(ctx, error);
  JSValue p = JS_NewSettledPromise(ctx, true, error);
  JS_FreeValue(ctx, error);
  return p;
}

static JSValue call(const char *tool, size_t tool_len, uint32_t binding, uint32_t shape, int argc, JSValueConst *argv) {
  buffer input = {0};
  int r = 0;
  if (binding == BINDING_PATH) { /* every argument: the host says how many there may be */
    buffer_puts(&input, "[");
    for (int i = 0; i < argc && r == 0; i++) {
      if (i) buffer_puts(&input, ",");
      r = json_write(&input, argv[i], JSON_INPUT);
    }
    buffer_puts(&input, "]");
  } else if (argc == 0 || JS_IsUndefined(argv[0])) {
    buffer_puts(&input, "{}");
  } else {
    r = json_write(&input, argv[0], JSON_INPUT);
  }
  if (r < 0) {
    buffer_free(&input);
    return rejected();
  }
  uint32_t id, line, column;
  JSValue p = promise(&id, &line, &column);
  if (!JS_IsException(p)) bridge_call(id, binding, tool, tool_len, input.ptr, input.len, shape, line, column);
  buffer_free(&input);
  return p;
}

/* A tool's own function: data[0] is its name, magic its binding. The engine pads argv to the function's length, so argc
   is what the cell gave. */
static JSValue tool_function(JSContext *c, JSValueConst self, int argc, JSValueConst *argv, int magic,
                             JSValueConst *data) {
  size_t len;
  const char *name = JS_ToCStringLen(ctx, &len, data[0]);
  if (!name) return JS_EXCEPTION;
  JSValue p = call(name, len, magic, SHAPE_VALUE, argc, argv);
  JS_FreeCString(ctx, name);
  return p;
}

/* host.tool(name, binding) */
static JSValue host_tool(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  int32_t binding = 0;
  JS_ToInt32(ctx, &binding, argv[1]);
  return JS_NewCFunctionData(ctx, tool_function, 1, binding, 1, argv);
}

/* host.call(reference, input, shape) */
static JSValue host_call(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  size_t len;
  int32_t shape = 0;
  const char *name = JS_ToCStringLen(ctx, &len, argv[0]);
  if (!name) return JS_EXCEPTION;
  JS_ToInt32(ctx, &shape, argv[2]);
  JSValue p = call(name, len, BINDING_REFERENCE, shape, 1, &argv[1]);
  JS_FreeCString(ctx, name);
  return p;
}

enum text_request { REQUEST_SEARCH, REQUEST_DESCRIBE, REQUEST_LOAD, REQUEST_DROP, REQUEST_YIELD };

/* host.search(query, limit, surface, convert), describe(name, binding), load(reference), drop(reference), yield(reason) */
static JSValue host_text_request(JSContext *c, JSValueConst self, int argc, JSValueConst *argv, int magic) {
  size_t len = 0;
  uint32_t id, line, column;
  int64_t a = 0;
  int32_t b = 0;
  bool some = !JS_IsUndefined(argv[0]);
  const char *text = some ? JS_ToCStringLen(ctx, &len, argv[0]) : "";
  if (!text) return rejected();
  if (argc > 1) JS_ToInt64(ctx, &a, argv[1]);
  if (argc > 2) JS_ToInt32(ctx, &b, argv[2]);
  if (a < 0 || a > UINT32_MAX) a = UINT32_MAX;
  JSValue p = promise(&id, &line, &column);
  if (!JS_IsException(p)) {
    if (argc > 3) pending[pending_len - 1].convert = JS_DupValue(ctx, argv[3]);
    switch (magic) {
    case REQUEST_SEARCH: bridge_search(id, text, len, (uint32_t)a, b); break;
    case REQUEST_DESCRIBE: bridge_describe(id, (uint32_t)a, text, len); break;
    case REQUEST_LOAD: bridge_load(id, text, len); break;
    case REQUEST_DROP: bridge_drop(id, text, len); break;
    case REQUEST_YIELD: bridge_yield(id, some, text, len); break;
    }
  }
  if (some) JS_FreeCString(ctx, text);
  return p;
}

/* host.save(value) */
static JSValue host_save(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  buffer text = {0};
  uint32_t id, line, column;
  if (json_write(&text, argv[0], JSON_VALUE) < 0) {
    buffer_free(&text);
    return rejected();
  }
  if (!text.len) buffer_puts(&text, "null");
  JSValue p = promise(&id, &line, &column);
  if (!JS_IsException(p)) bridge_save(id, text.ptr, text.len);
  buffer_free(&text);
  return p;
}

/* host.timer(milliseconds, callback) => id */
static JSValue host_timer(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  uint32_t milliseconds = 0;
  JS_ToUint32(ctx, &milliseconds, argv[0]);
  request *r = add();
  r->timer = true;
  r->resolve = JS_DupValue(ctx, argv[1]);
  uint32_t id = r->id;
  bridge_timer(id, milliseconds);
  return JS_NewUint32(ctx, id);
}

/* host.clear(id): only timers, so that no number of a tool call can be cleared by guessing. */
static JSValue host_clear(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  uint32_t id = 0;
  JS_ToUint32(ctx, &id, argv[0]);
  for (size_t i = 0; i < pending_len; i++) {
    request r;
    if (pending[i].id != id || !pending[i].timer) continue;
    take(id, &r);
    bridge_cancel(id);
    release(&r);
    break;
  }
  return JS_UNDEFINED;
}

/* Puts the host's words into the error that was made at the call. */
static JSValue failure(JSValueConst error, JSValueConst said) {
  static const char *const fields[] = {"message", "code", "tool", "effectStatus", "location"};
  if (!JS_IsObject(said)) return JS_DupValue(ctx, said);
  for (int i = 0; i < 5; i++) {
    JSValue v = JS_GetPropertyStr(ctx, said, fields[i]);
    if (JS_IsException(v)) {
      JS_FreeValue(ctx, JS_GetException(ctx));
      continue;
    }
    if (!JS_IsUndefined(v))
      JS_DefinePropertyValueStr(ctx, error, fields[i], v,
                                JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE | (i ? JS_PROP_ENUMERABLE : 0));
  }
  return JS_DupValue(ctx, error);
}

int requests_settle(uint32_t id, bool ok, const char *payload, size_t len) {
  request r;
  if (!take(id, &r)) return 0;
  JSValue value = JS_ParseJSON(ctx, payload, len, PRELUDE_FILE);
  int status = 0;
  if (JS_IsException(value)) {
    status = -1;
  } else {
    JSValue argument = !ok                             ? failure(r.error, value)
                       : JS_IsFunction(ctx, r.convert) ? JS_Call(ctx, r.convert, JS_UNDEFINED, 1, (JSValueConst *)&value)
                                                       : JS_DupValue(ctx, value);
    if (JS_IsException(argument)) {
      JS_FreeValue(ctx, value);
      release(&r);
      return -1;
    }
    JSValueConst function = ok || r.timer ? r.resolve : r.reject;
    JSValue done = JS_Call(ctx, function, JS_UNDEFINED, r.timer ? 0 : 1, &argument);
    if (JS_IsException(done)) status = -1;
    JS_FreeValue(ctx, done);
    JS_FreeValue(ctx, argument);
  }
  JS_FreeValue(ctx, value);
  release(&r);
  return status;
}

static void define(JSValueConst host, const char *name, JSValue function) {
  JS_DefinePropertyValueStr(ctx, host, name, function, JS_PROP_C_W_E);
}

void requests_init(JSValueConst host) {
  define(host, "tool", JS_NewCFunction(ctx, host_tool, "tool", 2));
  define(host, "call", JS_NewCFunction(ctx, host_call, "call", 3));
  define(host, "save", JS_NewCFunction(ctx, host_save, "save", 1));
  define(host, "timer", JS_NewCFunction(ctx, host_timer, "timer", 2));
  define(host, "clear", JS_NewCFunction(ctx, host_clear, "clear", 1));
  static const struct { const char *name; enum text_request request; } text[] = {
      {"search", REQUEST_SEARCH}, {"describe", REQUEST_DESCRIBE}, {"load", REQUEST_LOAD},
      {"drop", REQUEST_DROP},     {"yield", REQUEST_YIELD},
  };
  for (size_t i = 0; i < sizeof text / sizeof *text; i++)
    define(host, text[i].name, JS_NewCFunctionMagic(ctx, host_text_request, text[i].name, 1, JS_CFUNC_generic_magic, text[i].request));
}
