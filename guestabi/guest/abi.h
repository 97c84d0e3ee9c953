/* The host ABI of wit/codemode.wit, lowered to C by the canonical ABI. One declaration a function, in the file's order;
   `codemode abi --check` compares the finished module with the WIT, so a slip here does not build. */
#ifndef CODEMODE_ABI_H
#define CODEMODE_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BRIDGE(name) __attribute__((import_module("codemode:host/bridge@1.0.0"), import_name(name)))
#define CELL(name) __attribute__((export_name("codemode:host/cell@1.0.0#" name)))
#define EXPORT(name) __attribute__((export_name(name)))

enum binding { BINDING_REFERENCE, BINDING_CALLABLE, BINDING_PATH };
enum standing { STANDING_TOOL, STANDING_NAMESPACE, STANDING_VALUE };
enum shape { SHAPE_VALUE, SHAPE_ENVELOPE };
enum surface { SURFACE_TOOLS, SURFACE_CATALOG };
enum listing { LISTING_ALL_TOOLS, LISTING_HANDLES };
enum state { STATE_PENDING, STATE_FULFILLED, STATE_REJECTED, STATE_STOPPED };

/* A string that the host hands over: allocated with cabi_realloc, freed by the guest. */
typedef struct { char *ptr; size_t len; } abi_string;
/* option<string> */
typedef struct { uint8_t some; char *ptr; size_t len; } abi_option;
/* option<node> */
typedef struct {
  uint8_t some;
  struct { uint8_t standing, binding; abi_string name, data; } node;
} abi_option_node;
/* outcome */
typedef struct { uint8_t state; uint8_t truncated; uint32_t rejections; const char *ptr; size_t len; } abi_outcome;

BRIDGE("call") void bridge_call(uint32_t id, uint32_t binding, const char *tool, size_t tool_len, const char *input,
                                size_t input_len, uint32_t shape, uint32_t line, uint32_t column);
BRIDGE("search") void bridge_search(uint32_t id, const char *query, size_t len, uint32_t limit, uint32_t surface);
BRIDGE("describe") void bridge_describe(uint32_t id, uint32_t binding, const char *tool, size_t len);
BRIDGE("cancel") void bridge_cancel(uint32_t id);
BRIDGE("timer") void bridge_timer(uint32_t id, uint32_t milliseconds);
BRIDGE("yield") void bridge_yield(uint32_t id, uint32_t some, const char *reason, size_t len);
BRIDGE("text") void bridge_text(const char *value, size_t len);
BRIDGE("json") void bridge_json(const char *value, size_t len);
BRIDGE("resolve") void bridge_resolve(const char *path, size_t len, abi_option_node *result);
BRIDGE("names") void bridge_names(const char *path, size_t len, abi_string *result);
BRIDGE("entries") void bridge_entries(uint32_t listing, abi_string *result);
BRIDGE("files") void bridge_files(const char *prefix, size_t len, abi_option *result);
BRIDGE("file") void bridge_file(const char *path, size_t len, abi_option *result);
BRIDGE("save") void bridge_save(uint32_t id, const char *value, size_t len);
BRIDGE("load") void bridge_load(uint32_t id, const char *reference, size_t len);
BRIDGE("drop") void bridge_drop(uint32_t id, const char *reference, size_t len);
BRIDGE("now") uint64_t bridge_now(void);
BRIDGE("entropy") uint64_t bridge_entropy(void);
BRIDGE("interrupted") uint32_t bridge_interrupted(void);
BRIDGE("out-of-memory") void bridge_out_of_memory(void);

#endif
