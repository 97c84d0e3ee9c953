/* The cell: one JavaScript context, the prelude in it, and the functions by which the host runs a body, answers its
   requests and asks how it stands. Written against QuickJS-NG's public API alone. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

JSContext *ctx;
static JSRuntime *rt;
static JSValue main_promise = JS_UNDEFINED;
static bool reported;     /* the main promise's outcome has been given to the host */
static bool stopped;      /* the host said stop: nothing runs any more */
static JSValue stop_error = JS_UNDEFINED;
static uint32_t value_limit;
static uint64_t random_state;
static buffer result; /* what the last outcome or text points into */

/* --- rejections that nobody handles --- */

typedef struct { JSValue promise, reason; } rejection;
static rejection *rejected;
static size_t rejected_len, rejected_cap;

static void reject_later(JSValueConst promise, JSValueConst reason) {
  if (rejected_len == rejected_cap) {
    rejected_cap = rejected_cap ? rejected_cap * 2 : 16;
    rejected = realloc(rejected, rejected_cap * sizeof *rejected);
    if (!rejected) out_of_memory();
  }
  rejected[rejected_len++] = (rejection){JS_DupValue(ctx, promise), JS_DupValue(ctx, reason)};
}

static void track_rejection(JSContext *c, JSValueConst promise, JSValueConst reason, bool is_handled, void *opaque) {
  if (!is_handled) {
    reject_later(promise, reason);
    return;
  }
  for (size_t i = 0; i < rejected_len; i++) {
    if (!JS_IsStrictEqual(ctx, rejected[i].promise, promise)) continue;
    JS_FreeValue(ctx, rejected[i].promise);
    JS_FreeValue(ctx, rejected[i].reason);
    memmove(&rejected[i], &rejected[i + 1], (rejected_len - i - 1) * sizeof *rejected);
    rejected_len--;
    return;
  }
}

/* --- stopping --- */

static int on_interrupt(JSRuntime *r, void *opaque) {
  if (!stopped) stopped = bridge_interrupted();
  return stopped;
}

/* --- Math.random, seeded by the host: two VMs restored from one snapshot must not repeat each other --- */

static JSValue math_random(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  /* xorshift64*; its top 52 bits as a fraction */
  uint64_t x = random_state;
  x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
  random_state = x;
  return JS_NewFloat64(ctx, (double)(x * 0x2545F4914F6CDD1Dull >> 12) / 4503599627370496.0);
}

CELL("reseed") void cell_reseed(uint64_t seed) { random_state = seed ? seed : 1; }

/* --- output --- */

/* UTF-8 of a string; a lone surrogate, which UTF-8 cannot carry, becomes U+FFFD, which is as long. */
static void emit_text(JSValueConst v) {
  size_t len;
  const char *s = JS_ToCStringLen(ctx, &len, v);
  if (!s) return;
  buffer text = {0};
  buffer_put(&text, s, len);
  JS_FreeCString(ctx, s);
  for (size_t i = 0; i + 2 < text.len; i++)
    if ((unsigned char)text.ptr[i] == 0xED && (unsigned char)text.ptr[i + 1] >= 0xA0) memcpy(text.ptr + i, "\xEF\xBF\xBD", 3);
  bridge_text(text.len ? text.ptr : "", text.len);
  buffer_free(&text);
}

/* text(value): strings as they are, an error as its stack says it, all else as JSON. */
static JSValue host_text(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  if (JS_IsString(argv[0])) {
    emit_text(argv[0]);
    return JS_HasException(ctx) ? JS_EXCEPTION : JS_UNDEFINED;
  }
  buffer text = {.limit = value_limit};
  int r = json_write(&text, argv[0], JSON_VALUE);
  if (r == 0) bridge_text(text.len ? text.ptr : "", text.len);
  buffer_free(&text);
  return r < 0 ? JS_EXCEPTION : JS_UNDEFINED;
}

static JSValue host_json(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  buffer text = {.limit = value_limit};
  int r = json_write(&text, argv[0], JSON_VALUE);
  if (r == 0 && text.full) {
    JS_ThrowRangeError(ctx, "json(): the value is larger than %u bytes; emit less of it", value_limit);
    r = -1;
  }
  if (r == 0) bridge_json(text.ptr, text.len);
  buffer_free(&text);
  return r < 0 ? JS_EXCEPTION : JS_UNDEFINED;
}

/* --- catalog look-ups that are answered from memory --- */

static JSValue parse_and_free(char *ptr, size_t len) {
  JSValue v = JS_ParseJSON(ctx, len ? ptr : "", len, PRELUDE_FILE);
  if (len) release_memory(ptr);
  return v;
}

static JSValue host_entries(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  int32_t listing = 0;
  abi_string text = {0};
  JS_ToInt32(ctx, &listing, argv[0]);
  bridge_entries(listing, &text);
  return parse_and_free(text.ptr, text.len);
}

static JSValue host_files(JSContext *c, JSValueConst self, int argc, JSValueConst *argv, int magic) {
  size_t len;
  abi_option text = {0};
  const char *path = JS_ToCStringLen(ctx, &len, argv[0]);
  if (!path) return JS_EXCEPTION;
  if (magic)
    bridge_file(path, len, &text);
  else
    bridge_files(path, len, &text);
  JS_FreeCString(ctx, path);
  return text.some ? parse_and_free(text.ptr, text.len) : JS_UNDEFINED;
}

static JSValue host_scope(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  size_t len;
  const char *path = JS_ToCStringLen(ctx, &len, argv[0]);
  if (!path) return JS_EXCEPTION;
  JSValue scope = names_scope(path, len);
  JS_FreeCString(ctx, path);
  return scope;
}

/* --- the image: run once when the guest is built, and then frozen into its data section --- */

static JSValue forget_trial = JS_UNDEFINED;

static void fail_build(void) { __builtin_trap(); }

EXPORT("codemode-build-start") void build_start(const char *prelude, size_t len) {
  rt = JS_NewRuntime2(&memory_functions, NULL);
  JS_SetMaxStackSize(rt, 0); /* no check: the build trusts its own prelude */
  ctx = JS_NewContext(rt);
  if (!ctx) fail_build();
  JS_SetInterruptHandler(rt, on_interrupt, NULL);
  JS_SetHostPromiseRejectionTracker(rt, track_rejection, NULL);
  JS_SetCanBlock(rt, false);
  json_init();
  errors_init();
  names_init();

  JSValue global = JS_GetGlobalObject(ctx);
  JSValue bare = names_scope("", 0), object_proto = JS_GetPrototype(ctx, global);
  JS_SetPrototype(ctx, bare, object_proto);
  JS_SetPrototype(ctx, global, bare);
  JS_FreeValue(ctx, object_proto);
  JS_FreeValue(ctx, bare);

  JSValue math = JS_GetPropertyStr(ctx, global, "Math");
  JS_DefinePropertyValueStr(ctx, math, "random", JS_NewCFunction(ctx, math_random, "random", 0),
                            JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
  JS_FreeValue(ctx, math);

  JSValue host = JS_NewObjectProto(ctx, JS_NULL);
  requests_init(host);
  JS_SetPropertyStr(ctx, host, "text", JS_NewCFunction(ctx, host_text, "text", 1));
  JS_SetPropertyStr(ctx, host, "json", JS_NewCFunction(ctx, host_json, "json", 1));
  JS_SetPropertyStr(ctx, host, "entries", JS_NewCFunction(ctx, host_entries, "entries", 1));
  JS_SetPropertyStr(ctx, host, "scope", JS_NewCFunction(ctx, host_scope, "scope", 1));
  JS_SetPropertyStr(ctx, host, "files", JS_NewCFunctionMagic(ctx, host_files, "files", 1, JS_CFUNC_generic_magic, 0));
  JS_SetPropertyStr(ctx, host, "file", JS_NewCFunctionMagic(ctx, host_files, "file", 1, JS_CFUNC_generic_magic, 1));

  JSValue boot = JS_Eval(ctx, prelude, len, PRELUDE_FILE, JS_EVAL_TYPE_GLOBAL);
  JSValue booted = JS_Call(ctx, boot, JS_UNDEFINED, 1, &host);
  JSValue materialise = JS_GetPropertyStr(ctx, booted, "materialise");
  forget_trial = JS_GetPropertyStr(ctx, booted, "reset");
  if (!JS_IsFunction(ctx, materialise) || !JS_IsFunction(ctx, forget_trial)) fail_build();
  names_set_materialise(materialise);
  JS_FreeValue(ctx, materialise);
  JS_FreeValue(ctx, booted);
  JS_FreeValue(ctx, boot);
  JS_FreeValue(ctx, host);
  JS_FreeValue(ctx, global);
  names_seal();
}

/* After a trial run, which the build makes so that what a first cell would set up lazily is in the image: makes the
   cell's state what it was before. */
EXPORT("codemode-build-end") void build_end(void) {
  if (!reported || stopped || rejected_len) fail_build();
  JSValue global = JS_GetGlobalObject(ctx), bare = JS_GetPrototype(ctx, global);
  JSValue tools = JS_GetPropertyStr(ctx, global, "tools");
  names_forget(bare);
  names_forget(tools);
  JS_FreeValue(ctx, tools);
  JS_FreeValue(ctx, bare);
  JS_FreeValue(ctx, global);
  JS_FreeValue(ctx, JS_Call(ctx, forget_trial, JS_UNDEFINED, 0, NULL));
  JS_FreeValue(ctx, forget_trial);
  forget_trial = JS_UNDEFINED;
  main_promise = JS_UNDEFINED;
  reported = false;
  buffer_free(&result);
  requests_reset();
  JS_RunGC(rt);
  /* Room for a usual cell without memory.grow, and no collection before it has used that room: a collection touches
     every page of the heap, and each touched page must be reset or snapshotted. */
  free(malloc(1 << 20));
  JS_SetGCThreshold(rt, 4 << 20);
}

/* --- running --- */

static void run_jobs(void) {
  JSContext *c;
  while (!stopped && JS_IsJobPending(rt)) {
    if (JS_ExecutePendingJob(rt, &c) >= 0) continue;
    JSValue error = JS_GetException(ctx);
    if (JS_IsUncatchableError(error)) {
      stopped = true;
      stop_error = error;
      return;
    }
    reject_later(JS_UNDEFINED, error);
    JS_FreeValue(ctx, error);
  }
}

static abi_outcome *outcome(void) {
  static abi_outcome o;
  buffer_free(&result);
  o = (abi_outcome){.state = STATE_PENDING};
  if (!stopped && !reported && JS_IsPromise(main_promise)) {
    JSPromiseStateEnum state = JS_PromiseState(ctx, main_promise);
    if (state != JS_PROMISE_PENDING) {
      JSValue value = JS_PromiseResult(ctx, main_promise);
      reported = true;
      o.state = state == JS_PROMISE_FULFILLED ? STATE_FULFILLED : STATE_REJECTED;
      if (o.state == STATE_FULFILLED) {
        result.limit = value_limit;
        if (json_write(&result, value, JSON_VALUE) < 0) {
          buffer_free(&result);
          JS_FreeValue(ctx, value);
          value = JS_GetException(ctx);
          o.state = STATE_REJECTED;
        }
        o.truncated = result.full;
      }
      if (o.state == STATE_REJECTED) error_describe(&result, value);
      JS_FreeValue(ctx, value);
      run_jobs(); /* what toJSON or a getter may have started */
      main_promise = o.state == STATE_FULFILLED ? JS_TRUE : JS_FALSE;
    }
  } else if (reported) {
    o.state = JS_VALUE_GET_BOOL(main_promise) ? STATE_FULFILLED : STATE_REJECTED;
  }
  if (stopped) {
    if (JS_IsUndefined(stop_error)) stop_error = JS_GetException(ctx);
    o.state = STATE_STOPPED;
    o.truncated = false;
    buffer_free(&result);
    error_describe(&result, stop_error);
  }
  o.rejections = rejected_len;
  o.ptr = result.ptr;
  o.len = result.len;
  return &o;
}

CELL("run") abi_outcome *cell_run(char *source, size_t len, uint64_t seed, uint32_t stack_limit, uint32_t limit) {
  /* The body gets lines of its own, numbered from 1; a closing line, so that a comment at its end ends. */
  static const char head[] = "(async () => {\n\n", tail[] = "\n})";
  char *text = malloc(sizeof head - 1 + len + sizeof tail);
  if (!text) out_of_memory();
  memcpy(text, head, sizeof head - 1);
  memcpy(text + sizeof head - 1, source, len);
  memcpy(text + sizeof head - 1 + len, tail, sizeof tail);
  if (len) release_memory(source);
  cell_reseed(seed);
  value_limit = limit;
  JS_UpdateStackTop(rt);
  JS_SetMaxStackSize(rt, stack_limit);

  JSEvalOptions options = {.version = JS_EVAL_OPTIONS_VERSION, .eval_flags = JS_EVAL_TYPE_GLOBAL,
                           .filename = CELL_FILE, .line_num = -1};
  JSValue body = JS_Eval2(ctx, text, sizeof head - 1 + len + sizeof tail - 1, &options);
  release_memory(text);
  JSValue promise = JS_EXCEPTION;
  if (JS_IsFunction(ctx, body)) {
    JSValue global = JS_GetGlobalObject(ctx);
    promise = JS_Call(ctx, body, global, 0, NULL);
    JS_FreeValue(ctx, global);
  }
  JS_FreeValue(ctx, body);
  if (JS_IsException(promise)) {
    JSValue error = JS_GetException(ctx);
    if (JS_IsUncatchableError(error)) {
      stopped = true;
      stop_error = error;
      return outcome();
    }
    promise = JS_NewSettledPromise(ctx, true, error);
    JS_FreeValue(ctx, error);
  }
  main_promise = promise;
  JS_PromiseMarkAsHandled(ctx, main_promise);
  run_jobs();
  return outcome();
}

CELL("settle") abi_outcome *cell_settle(uint32_t id, uint32_t ok, char *payload, size_t len) {
  JS_UpdateStackTop(rt);
  if (!stopped && requests_settle(id, ok, len ? payload : "", len) < 0) {
    JSValue error = JS_GetException(ctx);
    if (JS_IsUncatchableError(error)) {
      stopped = true;
      stop_error = error;
    } else {
      reject_later(JS_UNDEFINED, error);
      JS_FreeValue(ctx, error);
    }
  }
  if (len) release_memory(payload);
  run_jobs();
  return outcome();
}

CELL("rejections") abi_string *cell_rejections(void) {
  static abi_string s;
  buffer_free(&result);
  buffer_puts(&result, "[");
  for (size_t i = 0; i < rejected_len; i++) {
    if (i) buffer_puts(&result, ",");
    error_describe(&result, rejected[i].reason);
  }
  buffer_puts(&result, "]");
  s = (abi_string){result.ptr, result.len};
  return &s;
}

CELL("position") abi_string *cell_position(void) {
  static abi_string s;
  JSValue error = JS_NewError(ctx);
  JSValue stack = JS_GetPropertyStr(ctx, error, "stack");
  s.ptr = (char *)JS_ToCStringLen(ctx, &s.len, stack);
  return &s;
}

/* --- what wasi-libc would import: this module has no WASI --- */

int32_t __imported_wasi_snapshot_preview1_clock_time_get(int32_t id, int64_t precision, int32_t result_at) {
  *(uint64_t *)(uintptr_t)result_at = bridge_now();
  return 0;
}
enum { ERRNO_BADF = 8 };
int32_t __imported_wasi_snapshot_preview1_fd_close(int32_t fd) { return ERRNO_BADF; }
int32_t __imported_wasi_snapshot_preview1_fd_fdstat_get(int32_t fd, int32_t stat) { return ERRNO_BADF; }
int32_t __imported_wasi_snapshot_preview1_fd_seek(int32_t fd, int64_t offset, int32_t whence, int32_t at) {
  return ERRNO_BADF;
}
int32_t __imported_wasi_snapshot_preview1_fd_write(int32_t fd, int32_t iov, int32_t count, int32_t written) {
  return ERRNO_BADF;
}
