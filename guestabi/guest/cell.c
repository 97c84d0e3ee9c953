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
static abi_string stopped_at; /* the stack of that moment */
static uint32_t jobs;         /* that were run since the engine last asked whether to go on */
static abi_string among_jobs; /* the stack when it did, where many had run */
static uint32_t value_limit;
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

/* --- stopping ---

   The engine throws what cannot be caught when it is told to stop. Promise jobs swallow that, and what they held may take
   long to be freed, so the place is noted before. */

static abi_string stack_here(void) {
  JSValue error = JS_NewError(ctx), stack = error_stack(error);
  abi_string s = {0};
  if (JS_IsString(stack)) s.ptr = (char *)JS_ToCStringLen(ctx, &s.len, stack);
  JS_FreeValue(ctx, stack);
  JS_FreeValue(ctx, error);
  return s;
}

/* Between jobs there is no stack. */
static abi_string where(void) {
  enum { MOST_NATIVE_FRAMES = 16 };
  for (int level = 0; level < MOST_NATIVE_FRAMES; level++) {
    JSAtom file = JS_GetScriptOrModuleName(ctx, level);
    if (file == JS_ATOM_NULL) continue;
    JS_FreeAtom(ctx, file);
    return stack_here();
  }
  return among_jobs;
}

static int on_interrupt(JSRuntime *r, void *opaque) {
  if (stopped) return true;
  if (bridge_interrupted()) {
    stopped = true;
    stopped_at = where();
  } else if (jobs > 50) {
    JS_FreeCString(ctx, among_jobs.ptr);
    among_jobs = stack_here();
    jobs = 0;
  }
  return stopped;
}

CELL("reseed") void cell_reseed(uint64_t seed) { random_seed(seed); }

/* --- output --- */

static int emit_text(JSValueConst v) {
  size_t len;
  const char *s = JS_ToCStringLen(ctx, &len, v);
  if (!s) return -1;
  buffer clean = {0};
  if (text_lone_surrogate(s, len)) {
    text_put(&clean, v);
    bridge_text(clean.ptr, clean.len);
  } else {
    bridge_text(s, len);
  }
  buffer_free(&clean);
  JS_FreeCString(ctx, s);
  return 0;
}

/* text(value): strings as they are, an error as its stack says it, all else as JSON. */
static JSValue host_text(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  if (JS_IsString(argv[0])) return emit_text(argv[0]) < 0 ? JS_EXCEPTION : JS_UNDEFINED;
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
  buffer path = {0};
  abi_option text = {0};
  if (text_put(&path, argv[0]) < 0) return JS_EXCEPTION;
  if (magic)
    bridge_file(path.ptr ? path.ptr : "", path.len, &text);
  else
    bridge_files(path.ptr ? path.ptr : "", path.len, &text);
  buffer_free(&path);
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

/* host.kind(value) */
static JSValue host_kind(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  return JS_NewInt32(ctx, kind_of(argv[0]));
}

/* host.unbox(object): the primitive of Object(1) and its like */
static JSValue host_unbox(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  enum kind kind = kind_of(argv[0]);
  return kind >= KIND_NUMBER && kind <= KIND_SYMBOL ? kind_unbox(argv[0], kind) : JS_UNDEFINED;
}

void host_define(JSValueConst host, const char *name, JSValue function) {
  JS_DefinePropertyValueStr(ctx, host, name, function, JS_PROP_C_W_E);
}

/* The prelude as bytecode without its source: what a cell sees of a function of ours is [native code], and the image
   does not carry the text. A runtime of its own compiles it, so that what compiling leaves behind goes with it. */
static uint8_t *compile(char *source, size_t len, size_t *size) {
  JSRuntime *compiler = JS_NewRuntime2(&memory_functions, NULL);
  JS_SetMaxStackSize(compiler, 0);
  JSContext *c = JS_NewContext(compiler);
  JSValue compiled = JS_Eval(c, source, len, PRELUDE_FILE, JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);
  uint8_t *written = JS_WriteObject(c, size, compiled, JS_WRITE_OBJ_BYTECODE | JS_WRITE_OBJ_STRIP_SOURCE);
  uint8_t *code = written ? malloc(*size) : NULL;
  if (code) memcpy(code, written, *size);
  js_free(c, written);
  JS_FreeValue(c, compiled);
  JS_FreeContext(c);
  JS_FreeRuntime(compiler);
  release_memory(source);
  return code;
}

/* --- the image: run once when the guest is built, and then frozen into its data section --- */

static void fail_build(void) { __builtin_trap(); }

EXPORT("codemode-build-start") void build_start(char *prelude, size_t len) {
  memory_scrubbed = true;
  size_t code_size;
  uint8_t *code = compile(prelude, len, &code_size);
  if (!code) fail_build();
  rt = JS_NewRuntime2(&memory_functions, NULL);
  JS_SetMaxStackSize(rt, 0); /* no check: the build trusts its own prelude */
  ctx = JS_NewContext(rt);
  if (!ctx) fail_build();
  JS_SetInterruptHandler(rt, on_interrupt, NULL);
  JS_SetHostPromiseRejectionTracker(rt, track_rejection, NULL);
  JS_SetCanBlock(rt, false);
  kinds_init();
  errors_init();
  json_init();
  names_init();

  JSValue global = JS_GetGlobalObject(ctx);
  JSValue bare = names_scope("", 0), object_proto = JS_GetPrototype(ctx, global);
  JS_SetPrototype(ctx, bare, object_proto);
  JS_SetPrototype(ctx, global, bare);
  JS_FreeValue(ctx, object_proto);

  JSValue host = JS_NewObjectProto(ctx, JS_NULL);
  requests_init(host);
  handles_init(host);
  random_init(host);
  text_init(host);
  url_init(host);
  static const struct { const char *name; JSCFunction *function; } functions[] = {
      {"text", host_text}, {"json", host_json}, {"entries", host_entries},
      {"scope", host_scope}, {"kind", host_kind}, {"unbox", host_unbox}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    host_define(host, functions[i].name, JS_NewCFunction(ctx, functions[i].function, functions[i].name, 1));
  host_define(host, "files", JS_NewCFunctionMagic(ctx, host_files, "files", 1, JS_CFUNC_generic_magic, 0));
  host_define(host, "file", JS_NewCFunctionMagic(ctx, host_files, "file", 1, JS_CFUNC_generic_magic, 1));

  JSValue read = JS_ReadObject(ctx, code, code_size, JS_READ_OBJ_BYTECODE);
  release_memory(code);
  JSValue boot = JS_IsException(read) ? read : JS_EvalFunction(ctx, read);
  JSValue booted = JS_IsException(boot) ? boot : JS_Call(ctx, boot, JS_UNDEFINED, 1, &host);
  if (JS_IsException(booted)) { /* the build's host may show it */
    buffer_puts(&result, "the prelude does not start: ");
    error_describe(&result, JS_GetException(ctx), 4096);
    bridge_text(result.ptr, result.len);
    fail_build();
  }
  JSValue materialise = JS_GetPropertyStr(ctx, booted, "materialise");
  JSValue signal_of = JS_GetPropertyStr(ctx, booted, "signalOf"), listen = JS_GetPropertyStr(ctx, booted, "listen");
  if (!JS_IsFunction(ctx, materialise) || !JS_IsFunction(ctx, signal_of) || !JS_IsFunction(ctx, listen)) fail_build();
  requests_set_signals(signal_of, listen);
  JS_FreeValue(ctx, signal_of);
  JS_FreeValue(ctx, listen);
  names_set_materialise(materialise);
  JS_FreeValue(ctx, materialise);
  JS_FreeValue(ctx, booted);
  JS_FreeValue(ctx, boot);
  JS_FreeValue(ctx, host);
  JSValue tools = JS_GetPropertyStr(ctx, global, "tools");
  names_seal();
  /* Nobody may give the scopes that exist already another prototype. */
  JS_PreventExtensions(ctx, bare);
  JS_PreventExtensions(ctx, tools);
  JS_FreeValue(ctx, tools);
  JS_FreeValue(ctx, bare);
  JS_FreeValue(ctx, global);
}

/* The engine allocates small blocks from arenas of one block size each, and frees an arena with its last block: a cell
   that uses a size which nothing else uses would make and free an arena again and again, which costs more than all else
   in an await. One block of every size is kept for good, in an arena that has nearly all its blocks free. */
static void keep_arenas(void) {
  enum { ARENA = 4096, SMALLEST = 8, LARGEST = 504 };
  static void *blocks[2 * ARENA / 16];
  for (size_t size = SMALLEST; size <= LARGEST; size += 8) {
    size_t n = 2 * ARENA / (size + 8);
    for (size_t i = 0; i < n; i++) blocks[i] = js_malloc(ctx, size);
    for (size_t i = 0; i + 1 < n; i++) js_free(ctx, blocks[i]);
  }
  memset(blocks, 0, sizeof blocks);
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
  handles_reset();
  main_promise = JS_UNDEFINED;
  reported = false;
  buffer_free(&result);
  requests_reset();
  JS_RunGC(rt);
  keep_arenas();
  /* Room for a usual cell without memory.grow, and no collection before it has used that room: a collection touches
     every page of the heap, and each touched page must be reset or snapshotted. */
  free(malloc(1 << 20));
  JS_SetGCThreshold(rt, 4 << 20);
  memory_scrubbed = false;
}

/* --- running --- */

static void run_jobs(void) {
  JSContext *c;
  while (!stopped && JS_IsJobPending(rt)) {
    jobs++;
    if (JS_ExecutePendingJob(rt, &c) >= 0) continue;
    JSValue error = JS_GetException(ctx);
    if (!stopped) reject_later(JS_UNDEFINED, error);
    JS_FreeValue(ctx, error);
  }
}

/* What one error may take of an outcome, and all of the rejections together. */
enum { ERROR_BYTES = 128 << 10, REJECTION_BYTES = 1 << 20 };

/* The cell's value or error, once its promise has settled. Writing the value may run code of the cell (toJSON,
   getters), and that code may be stopped. */
static void report(abi_outcome *o, JSPromiseStateEnum state) {
  JSValue value = JS_PromiseResult(ctx, main_promise);
  reported = true;
  o->state = state == JS_PROMISE_FULFILLED ? STATE_FULFILLED : STATE_REJECTED;
  if (o->state == STATE_FULFILLED) {
    result.limit = value_limit;
    if (json_write(&result, value, JSON_VALUE) < 0) {
      buffer_free(&result);
      JS_FreeValue(ctx, value);
      value = JS_GetException(ctx);
      o->state = STATE_REJECTED;
      if (stopped) return;
    }
    o->truncated = result.full;
  }
  if (o->state == STATE_REJECTED) error_describe(&result, value, ERROR_BYTES);
  JS_FreeValue(ctx, value);
  run_jobs(); /* what toJSON or a getter may have started */
  JS_FreeValue(ctx, main_promise);
  main_promise = o->state == STATE_FULFILLED ? JS_TRUE : JS_FALSE;
}

static abi_outcome *outcome(void) {
  static abi_outcome o;
  buffer_free(&result);
  o = (abi_outcome){.state = STATE_PENDING};
  if (!stopped && !reported && JS_IsPromise(main_promise)) {
    JSPromiseStateEnum state = JS_PromiseState(ctx, main_promise);
    if (state != JS_PROMISE_PENDING) report(&o, state);
  } else if (reported) {
    o.state = JS_VALUE_GET_BOOL(main_promise) ? STATE_FULFILLED : STATE_REJECTED;
  }
  if (stopped) {
    o.state = STATE_STOPPED;
    o.truncated = false;
    buffer_free(&result);
  } else if (reported) {
    requests_cancel_idle();
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
  requests_limit(limit);
  JS_UpdateStackTop(rt);
  requests_step();
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
    if (stopped) return outcome();
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
  requests_step();
  if (!stopped && requests_settle(id, ok, len ? payload : "", len) < 0) {
    JSValue error = JS_GetException(ctx);
    if (!stopped) reject_later(JS_UNDEFINED, error);
    JS_FreeValue(ctx, error);
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
    error_describe(&result, rejected[i].reason,
                   result.len + ERROR_BYTES < REJECTION_BYTES ? ERROR_BYTES : 0); /* each is named, if only by a word */
  }
  buffer_puts(&result, "]");
  s = (abi_string){result.ptr, result.len};
  return &s;
}

/* A trap may have come while a large heap was collected or freed, and whatever is made here goes on with that. */
CELL("position") abi_string *cell_position(void) {
  static abi_string s;
  static bool tried;
  if (stopped) {
    s = stopped_at;
  } else if (tried) {
    s = among_jobs;
  } else {
    tried = true;
    JS_SetGCThreshold(rt, SIZE_MAX);
    s = where();
  }
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
