/* What the guest's C files share. */
#ifndef CODEMODE_GUEST_H
#define CODEMODE_GUEST_H

#include "abi.h"
#include "quickjs.h"

/* 0.15 is the first release with the public calls used here; JS_NewClassID took no runtime before 0.6. */
#if QJS_VERSION_MAJOR == 0 && QJS_VERSION_MINOR < 15
#error "codemode needs QuickJS-NG 0.15 or newer"
#endif

/* The one context of this module. A module instance is one cell, so there is nothing to tell apart. */
extern JSContext *ctx;

/* --- buffer.c: memory that refuses to fail softly, and growing text --- */

extern const JSMallocFunctions memory_functions;
/* Set while the image is made: no freed byte stays in it. */
extern bool memory_scrubbed;
/* Says so to the host, which ends the cell; does not return. */
_Noreturn void out_of_memory(void);

/* Frees what malloc or the host's cabi_realloc gave, and leaves no trace of it. */
void release_memory(void *ptr);

/* Where room is given, the text is there as long as it fits: what most texts are short of needs no allocation then. */
typedef struct { char *ptr; size_t len, cap, limit; bool full; const char *room; } buffer;
#define BUFFER_ON(space) ((buffer){.ptr = (space), .cap = sizeof(space), .room = (space)})
void buffer_put(buffer *b, const char *text, size_t len);
void buffer_puts(buffer *b, const char *text);
void buffer_free(buffer *b);

/* --- kinds.c --- */

/* What a value is. The prelude's kinds.ts has the same numbers. */
enum kind {
  KIND_PRIMITIVE,
  KIND_PLAIN, /* an object of no special class: literals, and instances of a cell's own classes */
  KIND_ARRAY,
  KIND_FUNCTION,
  KIND_PROXY,
  KIND_ERROR,
  KIND_DOM_EXCEPTION,
  KIND_PROMISE,
  KIND_DATE,
  KIND_REGEXP,
  KIND_MAP,
  KIND_SET,
  KIND_TYPED_ARRAY,
  KIND_DATA_VIEW,
  KIND_BUFFER,
  KIND_SHARED_BUFFER,
  KIND_NUMBER, /* Object(1), and so on */
  KIND_STRING,
  KIND_BOOLEAN,
  KIND_BIGINT,
  KIND_SYMBOL,
  KIND_OTHER, /* iterators, weak collections, names_scope objects */
};

/* The engine's own functions, as they were before any cell ran. */
enum intrinsic {
  MAP_ENTRIES,
  MAP_NEXT,
  SET_VALUES,
  SET_NEXT,
  DATE_ISO,
  REGEXP_SOURCE,
  SYMBOL_TEXT,
  NUMBER_VALUE, /* in the order of the kinds */
  STRING_VALUE,
  BOOLEAN_VALUE,
  BIGINT_VALUE,
  SYMBOL_VALUE,
  DOM_EXCEPTION_NAME,
  DOM_EXCEPTION_MESSAGE,
  VIEW_BUFFER,
  VIEW_OFFSET,
  VIEW_LENGTH,
  TYPED_LENGTH,
  TYPED_OFFSET,
  TYPED_BYTES,
  ERROR_STACK,
  INTRINSICS,
};

void kinds_init(void);
enum kind kind_of(JSValueConst v);
/* Calls an intrinsic without arguments; undefined where this engine does not have it. */
JSValue intrinsic(enum intrinsic which, JSValueConst self);
/* The primitive in an object of one of the kinds from KIND_NUMBER to KIND_SYMBOL. */
JSValue kind_unbox(JSValueConst v, enum kind kind);
/* The [key, value] pairs of a Map or the values of a Set, as a new array. */
JSValue kind_members(JSValueConst v);
/* How many elements a typed array has; 0 where its buffer is detached. */
int64_t kind_length(JSValueConst v);
/* The bytes of a buffer or of a view of one; false where v is neither. Good only until code of the cell runs. */
bool kind_bytes(JSValueConst v, uint8_t **bytes, size_t *len);

/* --- json.c --- */

enum json_mode {
  JSON_VALUE, /* what a cell returns or emits: forgiving, runs toJSON and getters */
  JSON_INPUT, /* what a tool gets: strict, a value that JSON cannot carry is a TypeError */
  JSON_SAFE,  /* what an error shows: runs no code of the cell */
};
void json_init(void);
/* Set where JSON_INPUT throws an error of its own, not one of the cell's. */
extern bool json_refused;
/* Appends v as JSON text. Returns -1 with an exception pending. Sets b->full where b->limit cut it short. */
int json_write(buffer *b, JSValueConst v, enum json_mode mode);
void json_write_string(buffer *b, const char *utf8, size_t len);

/* --- errors.c --- */

/* Appends a JSON object that describes a thrown value, in about `most` bytes, without running code of the cell. */
void error_describe(buffer *b, JSValueConst thrown, size_t most);
/* An error's stack as the engine keeps it; undefined where there is none. */
JSValue error_stack(JSValueConst error);
void errors_init(void);
/* An Error without a stack: the engine adds one where it is thrown. */
JSValue error_blank(void);
/* The line and column of the innermost frame of the cell in an error's stack; zeroes where there is none. */
void error_site(JSValueConst error, uint32_t *line, uint32_t *column);

/* --- names.c --- */

void names_init(void);
/* An object whose properties are what the host's `resolve` finds below path. */
JSValue names_scope(const char *path, size_t len);
/* Ends the time in which names_scope objects take ordinary properties. */
void names_seal(void);
/* Makes a scope ask the host again for names that it knows. */
void names_forget(JSValueConst object);
/* The prelude's function that makes a value of a resolved name that is no tool: (path, value) => value, where a
   namespace has undefined. */
void names_set_materialise(JSValueConst function);

/* --- handles.c --- */

void handles_init(JSValueConst host);
/* The handle at a path: the one that the cell has, or a new one, whose requests give the host this name. Takes the name
   and the data, which is a JSON object that says what the tool is; empty for a function that says nothing. */
JSValue handle_get(JSAtom path, uint32_t binding, abi_string name, abi_string data);
/* Forgets the handles. */
void handles_reset(void);

/* --- requests.c --- */

void requests_init(JSValueConst host);
/* The prelude's functions for a call's `{signal}`: signal_of(options) gives an AbortSignal or undefined, and throws the
   reason of one that is aborted; listen(signal, cancel) gives a function that ends the listening. */
void requests_set_signals(JSValueConst signal_of, JSValueConst listen);
/* Gives up what does not keep a cell alive (intervals, AbortSignal.timeout) once nothing else is pending. */
void requests_cancel_idle(void);
/* The longest JSON text that a request may carry, in bytes. */
void requests_limit(uint32_t bytes);
/* Says that the host enters the cell anew. */
void requests_step(void);
/* Numbers the next cell's requests from 1. */
void requests_reset(void);
/* Calls a tool: the promise of its answer. options may hold a `signal`; where they do, they are no argument of a path's
   tool. */
JSValue requests_call(const char *tool, size_t len, uint32_t binding, uint32_t shape, int argc, JSValueConst *argv,
                      JSValueConst options);
JSValue requests_describe(const char *tool, size_t len, uint32_t binding);
/* Answers a request: resolves or rejects its promise. Returns -1 with an exception pending. */
int requests_settle(uint32_t id, bool ok, const char *payload, size_t len);

/* --- random.c, text.c, url.c: what the prelude's classes stand on --- */

void random_init(JSValueConst host);
void random_seed(uint64_t seed);
void text_init(JSValueConst host);
/* Appends bytes as clean UTF-8: what is not UTF-8 becomes U+FFFD, as the Encoding Standard says. */
void text_clean(buffer *b, const uint8_t *bytes, size_t len);
/* Appends a string as UTF-8, a lone surrogate as U+FFFD. -1 with an exception pending. */
int text_put(buffer *b, JSValueConst v);
/* Eight bytes with a 1 each. */
#define TEXT_ONES 0x0101010101010101u
/* Has the high bit of each byte of w that is c, up to the first; what is in other bits means nothing. */
static inline uint64_t text_bytes_of(uint64_t w, unsigned char c) {
  w ^= TEXT_ONES * c;
  return (w - TEXT_ONES) & ~w;
}
/* Whether the engine's text of a string holds what UTF-8 cannot carry, and the host would not take. */
bool text_lone_surrogate(const char *s, size_t len);
void url_init(JSValueConst host);

/* Defines a native function for the prelude. */
void host_define(JSValueConst host, const char *name, JSValue function);

/* The file name under which a cell's code appears in stacks, and the prelude's, whose frames are left out. */
#define CELL_FILE "cell"
#define PRELUDE_FILE "codemode:prelude"

#endif
