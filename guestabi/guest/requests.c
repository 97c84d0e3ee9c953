/* The cell's requests to the host: tool calls, searches, timers, yields. Each has a number, new for every request, and
   a promise or a function that its answer settles or calls. They live in C, so that a cell can neither see nor forge an
   answer. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  uint32_t id;
  bool timer;
  bool idle;         /* does not keep a cell alive whose promise has settled */
  uint32_t handle;   /* a timer's number for the cell: the id of its first request */
  uint32_t interval; /* milliseconds after which it is asked again; 0 for once */
  JSValue resolve; /* the promise; the callback of a timer; of an engine that settles no promise its resolve function */
  JSValue reject;  /* that engine's reject function */
  JSValue error;   /* made at the call, for its stack, so that a failure names the line that asked */
  JSValue convert; /* makes the promise's value of the answer, where it is a function */
  JSValue deaf;    /* ends the listening to a call's signal, where it is a function */
} request;

static request *pending; /* in the order of asking; those that are answered mostly go from the front */
static size_t pending_first, pending_len, pending_cap; /* len is where they end */
static uint32_t last_id, limit;
static JSValue signal_of = JS_UNDEFINED, listen = JS_UNDEFINED;

void requests_set_signals(JSValueConst signal, JSValueConst listener) {
  signal_of = JS_DupValue(ctx, signal);
  listen = JS_DupValue(ctx, listener);
}

void requests_limit(uint32_t bytes) { limit = bytes; }

/* The pointer is good until the next add or take. */
static request *add(void) {
  if (pending_len == pending_cap && pending_first) {
    memmove(pending, pending + pending_first, (pending_len - pending_first) * sizeof *pending);
    pending_len -= pending_first;
    pending_first = 0;
  }
  if (pending_len == pending_cap) {
    pending_cap = pending_cap ? pending_cap * 2 : 32;
    pending = realloc(pending, pending_cap * sizeof *pending);
    if (!pending) out_of_memory();
  }
  request *r = &pending[pending_len++];
  *r = (request){.id = ++last_id, .resolve = JS_UNDEFINED, .reject = JS_UNDEFINED, .error = JS_UNDEFINED,
                  .convert = JS_UNDEFINED, .deaf = JS_UNDEFINED};
  return r;
}

static request *find(uint32_t id) {
  for (size_t i = pending_first; i < pending_len; i++)
    if (pending[i].id == id) return &pending[i];
  return NULL;
}

static bool take(uint32_t id, request *out) {
  for (size_t i = pending_first; i < pending_len; i++) {
    if (pending[i].id != id) continue;
    *out = pending[i];
    if (i == pending_first) {
      pending[pending_first++] = (request){0}; /* what is dead must not cost bytes in a snapshot */
    } else {
      memmove(&pending[i], &pending[i + 1], (pending_len - i - 1) * sizeof *pending);
      pending_len--;
    }
    if (pending_first == pending_len) pending_first = pending_len = 0;
    return true;
  }
  return false;
}

static void release(request *r) {
  JS_FreeValue(ctx, r->resolve);
  JS_FreeValue(ctx, r->reject);
  JS_FreeValue(ctx, r->error);
  JS_FreeValue(ctx, r->convert);
  JS_FreeValue(ctx, r->deaf);
}

/* Making an error with its stack is the dearest part of a call. So calls from the same place share one. Where they come
   from many, or the engine cannot tell, only the first calls of a step get theirs; the others are taken to come from the
   last of these places, and their errors, where they fail, get the stack of the await. */
enum { MAX_SITES = 16 };
static uint32_t sites;
static struct {
  uint64_t key;
  uint32_t line, column;
  JSValue error;
} last = {.error = JS_UNDEFINED};

/* Of an engine with the edits of quickjs/build/stacks.go. */
__attribute__((weak)) uint64_t JS_StackKey(JSContext *ctx);
__attribute__((weak)) void JS_CopyErrorStack(JSContext *ctx, JSValueConst to, JSValueConst from);

void requests_step(void) { sites = 0; }

void requests_reset(void) {
  last_id = 0;
  JS_FreeValue(ctx, last.error);
  last.error = JS_UNDEFINED;
  last.key = last.line = last.column = 0;
}

static JSValue site(uint32_t *line, uint32_t *column) {
  uint64_t key = JS_StackKey ? JS_StackKey(ctx) : 0;
  bool same = JS_StackKey && key == last.key && !JS_IsUndefined(last.error);
  JSValue error = same ? JS_DupValue(ctx, last.error) : JS_UNDEFINED;
  if (!same && sites < MAX_SITES) {
    sites++;
    error = JS_NewError(ctx);
    error_site(error, &last.line, &last.column);
    if (JS_StackKey) {
      JS_FreeValue(ctx, last.error);
      last.key = key;
      last.error = JS_DupValue(ctx, error);
    }
  }
  *line = last.line, *column = last.column;
  return error;
}

/* Of an engine with the edits of quickjs/build/promises.go. */
__attribute__((weak)) JSValue JS_NewPendingPromise(JSContext *ctx);
__attribute__((weak)) void JS_SettlePromise(JSContext *ctx, JSValueConst promise, bool is_reject, JSValueConst value);

/* A pending promise and what settles it. */
static JSValue new_promise(JSValue functions[2]) {
  if (!JS_NewPendingPromise || !JS_SettlePromise) return JS_NewPromiseCapability(ctx, functions);
  JSValue p = JS_NewPendingPromise(ctx);
  functions[0] = JS_DupValue(ctx, p);
  functions[1] = JS_UNDEFINED;
  return p;
}

/* -1 with an exception pending. */
static int settle(const request *r, bool ok, JSValueConst value) {
  if (!r->timer && JS_IsPromise(r->resolve)) {
    JS_SettlePromise(ctx, r->resolve, !ok, value);
    return 0;
  }
  JSValue done = JS_Call(ctx, ok || r->timer ? r->resolve : r->reject, JS_UNDEFINED, r->timer ? 0 : 1, &value);
  JS_FreeValue(ctx, done);
  return JS_IsException(done) ? -1 : 0;
}

/* A promise and the request that settles it. Everything that could run code of the cell comes before the request is
   added, so that a request is whole from the start. */
static JSValue promise(uint32_t *id, uint32_t *line, uint32_t *column) {
  JSValue functions[2];
  JSValue p = new_promise(functions);
  if (JS_IsException(p)) return p;
  JSValue error = site(line, column);
  request *r = add();
  r->resolve = functions[0];
  r->reject = functions[1];
  r->error = error;
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

/* Gives up the call whose id is in data[0] and rejects its promise with the signal's reason. */
static JSValue cancel_call(JSContext *c, JSValueConst self, int argc, JSValueConst *argv, int magic, JSValueConst *data) {
  uint32_t id = 0;
  request r;
  JS_ToUint32(ctx, &id, data[0]);
  if (!take(id, &r)) return JS_UNDEFINED;
  bridge_cancel(id);
  int status = settle(&r, false, argv[0]);
  release(&r);
  return status < 0 ? JS_EXCEPTION : JS_UNDEFINED;
}

/* Makes a signal cancel a pending call. */
static int cancel_with(JSValueConst signal, uint32_t id) {
  JSValue data = JS_NewUint32(ctx, id);
  JSValue args[2] = {JS_DupValue(ctx, signal), JS_NewCFunctionData(ctx, cancel_call, 1, 0, 1, (JSValueConst *)&data)};
  JSValue deaf = JS_Call(ctx, listen, JS_UNDEFINED, 2, (JSValueConst *)args);
  JS_FreeValue(ctx, args[0]);
  JS_FreeValue(ctx, args[1]);
  if (JS_IsException(deaf)) return -1;
  request *r = find(id);
  if (r)
    r->deaf = deaf;
  else
    JS_FreeValue(ctx, deaf);
  return 0;
}

/* Writes the input of a call. -1 with an exception pending. */
static int write_input(buffer *input, uint32_t binding, int argc, JSValueConst *argv) {
  int r = 0;
  input->limit = limit;
  json_refused = false;
  if (binding == BINDING_PATH) { /* every argument: the host says how many there may be */
    buffer_puts(input, "[");
    for (int i = 0; i < argc && r == 0; i++) {
      if (i) buffer_puts(input, ",");
      r = json_write(input, argv[i], JSON_INPUT);
    }
    buffer_puts(input, "]");
  } else if (argc == 0 || JS_IsUndefined(argv[0])) {
    buffer_puts(input, "{}");
  } else {
    r = json_write(input, argv[0], JSON_INPUT);
  }
  if (r == 0 && input->full) {
    json_refused = true;
    JS_ThrowRangeError(ctx, "the input takes more than %u bytes of JSON; send less of it", limit);
    r = -1;
  }
  return r;
}

/* rejected, of an input that no tool could get: with what errors of tools have. */
static JSValue refused(const char *tool, size_t len) {
  JSValue error = JS_GetException(ctx);
  if (JS_IsError(error)) {
    enum { FIELD = JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE | JS_PROP_ENUMERABLE };
    JS_DefinePropertyValueStr(ctx, error, "code", JS_NewString(ctx, "invalid_input"), FIELD);
    JS_DefinePropertyValueStr(ctx, error, "tool", JS_NewStringLen(ctx, tool, len), FIELD);
  }
  JS_Throw(ctx, error);
  return rejected();
}

JSValue requests_call(const char *tool, size_t tool_len, uint32_t binding, uint32_t shape, int argc, JSValueConst *argv,
                      JSValueConst options) {
  JSValue signal = JS_UNDEFINED;
  if (JS_IsObject(options)) {
    signal = JS_Call(ctx, signal_of, JS_UNDEFINED, 1, &options);
    if (JS_IsException(signal)) return rejected();
    if (!JS_IsUndefined(signal) && argc > 1) argc = 1;
  }
  char room[512];
  buffer input = BUFFER_ON(room);
  if (write_input(&input, binding, argc, argv) < 0) {
    buffer_free(&input);
    JS_FreeValue(ctx, signal);
    return json_refused ? refused(tool, tool_len) : rejected();
  }
  uint32_t id, line, column;
  JSValue p = promise(&id, &line, &column);
  if (!JS_IsException(p)) {
    bridge_call(id, binding, tool, tool_len, input.ptr, input.len, shape, line, column);
    if (!JS_IsUndefined(signal) && cancel_with(signal, id) < 0) {
      JS_FreeValue(ctx, p);
      p = JS_EXCEPTION;
    }
  }
  JS_FreeValue(ctx, signal);
  buffer_free(&input);
  return p;
}

JSValue requests_describe(const char *tool, size_t len, uint32_t binding) {
  uint32_t id, line, column;
  JSValue p = promise(&id, &line, &column);
  if (!JS_IsException(p)) bridge_describe(id, binding, tool, len);
  return p;
}

/* host.call(reference, input, shape, options) */
static JSValue host_call(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  char room[128];
  buffer name = BUFFER_ON(room);
  int32_t shape = 0;
  if (text_put(&name, argv[0]) < 0) return rejected();
  JS_ToInt32(ctx, &shape, argv[2]);
  JSValue p = requests_call(name.ptr ? name.ptr : "", name.len, BINDING_REFERENCE, shape, 1, &argv[1], argc > 3 ? argv[3] : JS_UNDEFINED);
  buffer_free(&name);
  return p;
}

enum text_request { REQUEST_SEARCH, REQUEST_DESCRIBE, REQUEST_LOAD, REQUEST_DROP, REQUEST_YIELD };

/* host.search(query, limit, surface, convert), describe(name, binding), load(reference), drop(reference), yield(reason) */
static JSValue host_text_request(JSContext *c, JSValueConst self, int argc, JSValueConst *argv, int magic) {
  uint32_t id, line, column;
  int64_t a = 0;
  int32_t b = 0;
  bool some = !JS_IsUndefined(argv[0]);
  char room[128];
  buffer given = BUFFER_ON(room);
  if (some && text_put(&given, argv[0]) < 0) return rejected();
  const char *text = given.ptr ? given.ptr : "";
  size_t len = given.len;
  if (argc > 1) JS_ToInt64(ctx, &a, argv[1]);
  if (argc > 2) JS_ToInt32(ctx, &b, argv[2]);
  if (a < 0 || a > UINT32_MAX) a = UINT32_MAX;
  JSValue p = promise(&id, &line, &column);
  if (!JS_IsException(p)) {
    if (argc > 3) find(id)->convert = JS_DupValue(ctx, argv[3]);
    switch (magic) {
    case REQUEST_SEARCH: bridge_search(id, text, len, (uint32_t)a, b); break;
    case REQUEST_DESCRIBE: bridge_describe(id, (uint32_t)a, text, len); break;
    case REQUEST_LOAD: bridge_load(id, text, len); break;
    case REQUEST_DROP: bridge_drop(id, text, len); break;
    case REQUEST_YIELD: bridge_yield(id, some, text, len); break;
    }
  }
  buffer_free(&given);
  return p;
}

/* host.save(value) */
static JSValue host_save(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  buffer text = {.limit = limit};
  uint32_t id, line, column;
  int r = json_write(&text, argv[0], JSON_VALUE);
  if (r == 0 && text.full) {
    JS_ThrowRangeError(ctx, "results.save: the value takes more than %u bytes of JSON; save less of it", limit);
    r = -1;
  }
  if (r < 0) {
    buffer_free(&text);
    return rejected();
  }
  if (!text.len) buffer_puts(&text, "null");
  JSValue p = promise(&id, &line, &column);
  if (!JS_IsException(p)) bridge_save(id, text.ptr, text.len);
  buffer_free(&text);
  return p;
}

enum { TIMER_REPEATS = 1, TIMER_IDLE = 2 };

/* host.timer(milliseconds, callback, flags) => handle */
static JSValue host_timer(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  uint32_t milliseconds = 0;
  int32_t flags = 0;
  JS_ToUint32(ctx, &milliseconds, argv[0]);
  JS_ToInt32(ctx, &flags, argv[2]);
  request *r = add();
  uint32_t id = r->id;
  r->timer = true;
  r->handle = id;
  r->idle = flags != 0;
  if (flags & TIMER_REPEATS) r->interval = milliseconds;
  r->resolve = JS_DupValue(ctx, argv[1]);
  bridge_timer(id, milliseconds);
  return JS_NewUint32(ctx, id);
}

/* Asks again for a timer that repeats, under a new id and the same handle. */
static void repeat(const request *fired) {
  request *r = add();
  uint32_t id = r->id;
  r->timer = r->idle = true;
  r->handle = fired->handle;
  r->interval = fired->interval;
  r->resolve = JS_DupValue(ctx, fired->resolve);
  bridge_timer(id, fired->interval);
}

static void give_up(uint32_t id) {
  request r;
  if (!take(id, &r)) return;
  bridge_cancel(id);
  release(&r);
}

/* host.clear(handle): only timers, so that no number of a tool call can be cleared by guessing. */
static JSValue host_clear(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  uint32_t handle = 0;
  JS_ToUint32(ctx, &handle, argv[0]);
  for (size_t i = pending_first; i < pending_len; i++) {
    if (!pending[i].timer || pending[i].handle != handle) continue;
    give_up(pending[i].id);
    break;
  }
  return JS_UNDEFINED;
}

void requests_cancel_idle(void) {
  for (size_t i = pending_first; i < pending_len; i++)
    if (!pending[i].idle) return;
  while (pending_len > pending_first) give_up(pending[pending_first].id);
}

/* An error with the host's words and the stack of the call. */
static JSValue failure(JSValueConst at_call, JSValueConst said) {
  static const char *const fields[] = {"message", "code", "tool", "effectStatus", "location", "data"};
  if (!JS_IsObject(said)) return JS_DupValue(ctx, said);
  bool shared = JS_CopyErrorStack || JS_IsUndefined(at_call);
  JSValue error = shared ? error_blank() : JS_DupValue(ctx, at_call);
  if (JS_CopyErrorStack) JS_CopyErrorStack(ctx, error, at_call);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    JSPropertyDescriptor d;
    JSAtom key = JS_NewAtom(ctx, fields[i]);
    /* What was parsed has data properties only, and what it does not have the cell must not add by a prototype. */
    if (JS_GetOwnProperty(ctx, &d, said, key) > 0)
      JS_DefinePropertyValue(ctx, error, key, d.value, JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE | (i ? JS_PROP_ENUMERABLE : 0));
    JS_FreeAtom(ctx, key);
  }
  return error;
}

int requests_settle(uint32_t id, bool ok, const char *payload, size_t len) {
  request r;
  if (!take(id, &r)) return 0;
  if (r.interval && ok) repeat(&r);
  if (JS_IsFunction(ctx, r.deaf)) JS_FreeValue(ctx, JS_Call(ctx, r.deaf, JS_UNDEFINED, 0, NULL));
  JSValue value = JS_ParseJSON(ctx, payload, len, PRELUDE_FILE);
  JSValue argument = JS_EXCEPTION;
  if (!JS_IsException(value)) {
    argument = !ok                             ? failure(r.error, value)
               : JS_IsFunction(ctx, r.convert) ? JS_Call(ctx, r.convert, JS_UNDEFINED, 1, (JSValueConst *)&value)
                                               : JS_DupValue(ctx, value);
    JS_FreeValue(ctx, value);
  }
  /* An answer that cannot be made a value of rejects its promise: a cell must not wait for it for ever. */
  if (JS_IsException(argument) && !r.timer) {
    argument = JS_GetException(ctx);
    ok = false;
    if (JS_IsUncatchableError(argument)) argument = JS_Throw(ctx, argument);
  }
  int status = -1;
  if (!JS_IsException(argument)) {
    status = settle(&r, ok, argument);
    JS_FreeValue(ctx, argument);
  }
  release(&r);
  return status;
}

void requests_init(JSValueConst host) {
  host_define(host, "call", JS_NewCFunction(ctx, host_call, "call", 3));
  host_define(host, "save", JS_NewCFunction(ctx, host_save, "save", 1));
  host_define(host, "timer", JS_NewCFunction(ctx, host_timer, "timer", 3));
  host_define(host, "clear", JS_NewCFunction(ctx, host_clear, "clear", 1));
  static const struct { const char *name; enum text_request request; } text[] = {
      {"search", REQUEST_SEARCH}, {"describe", REQUEST_DESCRIBE}, {"load", REQUEST_LOAD},
      {"drop", REQUEST_DROP},     {"yield", REQUEST_YIELD},
  };
  for (size_t i = 0; i < sizeof text / sizeof *text; i++)
    host_define(host, text[i].name, JS_NewCFunctionMagic(ctx, host_text_request, text[i].name, 1, JS_CFUNC_generic_magic, text[i].request));
}
