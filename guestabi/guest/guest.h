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
/* Says so to the host, which ends the cell; does not return. */
_Noreturn void out_of_memory(void);

/* Frees what malloc or the host's cabi_realloc gave, and leaves no trace of it. */
void release_memory(void *ptr);

typedef struct { char *ptr; size_t len, cap, limit; bool full; } buffer;
void buffer_put(buffer *b, const char *text, size_t len);
void buffer_puts(buffer *b, const char *text);
void buffer_free(buffer *b);

/* --- json.c --- */

enum json_mode {
  JSON_VALUE, /* what a cell returns or emits: forgiving, runs toJSON and getters */
  JSON_INPUT, /* what a tool gets: strict, a value that JSON cannot carry is a TypeError */
  JSON_SAFE,  /* what an error shows: runs no code of the cell */
};
void json_init(void);
/* Appends v as JSON text. Returns -1 with an exception pending. Sets b->full where b->limit cut it short. */
int json_write(buffer *b, JSValueConst v, enum json_mode mode);
void json_write_string(buffer *b, const char *utf8, size_t len);

/* --- errors.c --- */

void errors_init(void);
/* Appends a JSON object that describes a thrown value, without running code of the cell. */
void error_describe(buffer *b, JSValueConst thrown);
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
/* The prelude's function that makes a value of a resolved node: (path, node) => value. */
void names_set_materialise(JSValueConst function);

/* --- requests.c --- */

void requests_init(JSValueConst host);
/* Numbers the next cell's requests from 1. */
void requests_reset(void);
/* Answers a request: resolves or rejects its promise. Returns -1 with an exception pending. */
int requests_settle(uint32_t id, bool ok, const char *payload, size_t len);

/* The file name under which a cell's code appears in stacks, and the prelude's, whose frames are left out. */
#define CELL_FILE "cell"
#define PRELUDE_FILE "codemode:prelude"

#endif
