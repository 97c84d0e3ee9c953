/* The part of wasmtime's C API that wasmtime-go links but does not offer, declared here and used in native.c:

     pooling allocation        instances come from a pool of prepared slots, which makes one in microseconds
     instance_pre              imports are looked up once, not for each instance
     *_unchecked               calls without boxing and type checks (wasmtime-go's Func.Call reflects: about 3 µs)
     store_epoch_deadline_callback   asks at each tick whether a cell must stop
     store and context calls   so that a cell's store needs no finalizer

   https://docs.wasmtime.dev/c-api/ describes each. layout_test.go compiles this file together with wasmtime's own
   headers, so that a change there fails a test here. */
#ifndef CODEMODE_NATIVE_H
#define CODEMODE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef CODEMODE_LAYOUT_TEST
#include <wasmtime.h>
#else
typedef struct wasm_config_t wasm_config_t;
typedef struct wasm_engine_t wasm_engine_t;
typedef struct wasm_trap_t wasm_trap_t;
typedef struct wasm_functype_t wasm_functype_t;
typedef struct wasm_valtype_t wasm_valtype_t;
typedef struct wasmtime_store wasmtime_store_t;
typedef struct wasmtime_context wasmtime_context_t;
typedef struct wasmtime_module wasmtime_module_t;
typedef struct wasmtime_linker wasmtime_linker_t;
typedef struct wasmtime_caller wasmtime_caller_t;
typedef struct wasmtime_error wasmtime_error_t;
typedef struct wasmtime_instance_pre wasmtime_instance_pre_t;
typedef struct wasmtime_pooling_allocation_config_t wasmtime_pooling_allocation_config_t;
typedef uint8_t wasmtime_update_deadline_kind_t;
typedef uint8_t wasmtime_trap_code_t;
typedef struct wasm_byte_vec_t { size_t size; char *data; } wasm_byte_vec_t;
typedef struct wasm_valtype_vec_t { size_t size; wasm_valtype_t **data; } wasm_valtype_vec_t;
typedef struct wasmtime_instance { uint64_t store_id; size_t __private; } wasmtime_instance_t;
typedef struct wasmtime_func { uint64_t store_id; void *__private; } wasmtime_func_t;
typedef struct wasmtime_memory {
  struct { uint64_t store_id; uint32_t __private1; };
  uint32_t __private2;
} wasmtime_memory_t;
typedef union wasmtime_extern_union {
  wasmtime_func_t func;
  wasmtime_memory_t memory;
  uint64_t room[3];
} wasmtime_extern_union_t;
typedef struct wasmtime_extern { uint8_t kind; wasmtime_extern_union_t of; } wasmtime_extern_t;
typedef union wasmtime_val_raw { int32_t i32; int64_t i64; uint8_t v128[16]; } wasmtime_val_raw_t;
typedef wasm_trap_t *(*wasmtime_func_unchecked_callback_t)(void *, wasmtime_caller_t *, wasmtime_val_raw_t *, size_t);
#define WASMTIME_EXTERN_FUNC 0
#define WASMTIME_EXTERN_MEMORY 3
#define WASMTIME_UPDATE_DEADLINE_CONTINUE 0
#define WASM_I32 0
#define WASM_I64 1
#endif

wasmtime_pooling_allocation_config_t *wasmtime_pooling_allocation_config_new(void);
void wasmtime_pooling_allocation_config_delete(wasmtime_pooling_allocation_config_t *);
void wasmtime_pooling_allocation_config_total_memories_set(wasmtime_pooling_allocation_config_t *, uint32_t);
void wasmtime_pooling_allocation_config_total_core_instances_set(wasmtime_pooling_allocation_config_t *, uint32_t);
void wasmtime_pooling_allocation_config_total_stacks_set(wasmtime_pooling_allocation_config_t *, uint32_t);
void wasmtime_pooling_allocation_config_total_tables_set(wasmtime_pooling_allocation_config_t *, uint32_t);
void wasmtime_pooling_allocation_config_table_elements_set(wasmtime_pooling_allocation_config_t *, size_t);
void wasmtime_pooling_allocation_config_max_memory_size_set(wasmtime_pooling_allocation_config_t *, size_t);
void wasmtime_pooling_allocation_config_linear_memory_keep_resident_set(wasmtime_pooling_allocation_config_t *, size_t);
void wasmtime_pooling_allocation_config_table_keep_resident_set(wasmtime_pooling_allocation_config_t *, size_t);
void wasmtime_pooling_allocation_config_max_unused_warm_slots_set(wasmtime_pooling_allocation_config_t *, uint32_t);
void wasmtime_pooling_allocation_strategy_set(wasm_config_t *, const wasmtime_pooling_allocation_config_t *);

wasmtime_store_t *wasmtime_store_new(wasm_engine_t *, void *data, void (*finalizer)(void *));
wasmtime_context_t *wasmtime_store_context(wasmtime_store_t *);
void wasmtime_store_delete(wasmtime_store_t *);
void wasmtime_store_limiter(wasmtime_store_t *, int64_t memory_size, int64_t table_elements, int64_t instances,
                            int64_t tables, int64_t memories);
void wasmtime_store_epoch_deadline_callback(
    wasmtime_store_t *, wasmtime_error_t *(*)(wasmtime_context_t *, void *, uint64_t *, wasmtime_update_deadline_kind_t *),
    void *data, void (*finalizer)(void *));
void *wasmtime_context_get_data(const wasmtime_context_t *);
wasmtime_error_t *wasmtime_context_set_fuel(wasmtime_context_t *, uint64_t);
wasmtime_error_t *wasmtime_context_get_fuel(const wasmtime_context_t *, uint64_t *);
void wasmtime_context_set_epoch_deadline(wasmtime_context_t *, uint64_t ticks_beyond_current);

wasmtime_linker_t *wasmtime_linker_new(wasm_engine_t *);
void wasmtime_linker_delete(wasmtime_linker_t *);
wasmtime_error_t *wasmtime_linker_define_func_unchecked(wasmtime_linker_t *, const char *module, size_t module_len,
                                                        const char *name, size_t name_len, const wasm_functype_t *,
                                                        wasmtime_func_unchecked_callback_t, void *data,
                                                        void (*finalizer)(void *));
wasmtime_error_t *wasmtime_linker_instantiate_pre(const wasmtime_linker_t *, const wasmtime_module_t *,
                                                  wasmtime_instance_pre_t **);
void wasmtime_instance_pre_delete(wasmtime_instance_pre_t *);
wasmtime_error_t *wasmtime_instance_pre_instantiate(const wasmtime_instance_pre_t *, wasmtime_context_t *,
                                                    wasmtime_instance_t *, wasm_trap_t **);
bool wasmtime_instance_export_get(wasmtime_context_t *, const wasmtime_instance_t *, const char *name, size_t name_len,
                                  wasmtime_extern_t *);
wasmtime_context_t *wasmtime_caller_context(wasmtime_caller_t *);
wasmtime_error_t *wasmtime_func_call_unchecked(wasmtime_context_t *, const wasmtime_func_t *, wasmtime_val_raw_t *,
                                               size_t, wasm_trap_t **);
uint8_t *wasmtime_memory_data(const wasmtime_context_t *, const wasmtime_memory_t *);
size_t wasmtime_memory_data_size(const wasmtime_context_t *, const wasmtime_memory_t *);
wasmtime_error_t *wasmtime_memory_grow(wasmtime_context_t *, const wasmtime_memory_t *, uint64_t delta, uint64_t *before);

wasm_trap_t *wasmtime_trap_new(const char *, size_t);
bool wasmtime_trap_code(const wasm_trap_t *, wasmtime_trap_code_t *);
wasmtime_error_t *wasmtime_error_new(const char *);
void wasmtime_error_message(const wasmtime_error_t *, wasm_byte_vec_t *);
void wasmtime_error_delete(wasmtime_error_t *);
void wasm_trap_message(const wasm_trap_t *, wasm_byte_vec_t *);
void wasm_trap_delete(wasm_trap_t *);
void wasm_byte_vec_delete(wasm_byte_vec_t *);
wasm_valtype_t *wasm_valtype_new(uint8_t);
wasm_functype_t *wasm_functype_new(wasm_valtype_vec_t *params, wasm_valtype_vec_t *results);
void wasm_functype_delete(wasm_functype_t *);
void wasm_valtype_vec_new_uninitialized(wasm_valtype_vec_t *, size_t);

/* --- ours --- */

enum { CODEMODE_MAX_EXPORTS = 8 };

/* One instance with its store. The Go side owns it and uses it on one goroutine at a time. */
typedef struct codemode_instance {
  wasmtime_store_t *store;
  wasmtime_context_t *context;
  wasmtime_memory_t memory;
  uint8_t *base; /* of linear memory, and its size: valid between calls and inside imports */
  size_t size;
  uintptr_t handle; /* the Go side's runtime/cgo.Handle */
  bool ended; /* by the host, in the call under way or the last one */
  wasmtime_func_t exports[CODEMODE_MAX_EXPORTS];
} codemode_instance;

/* How a call ended. */
enum { CODEMODE_OK, CODEMODE_TRAP, CODEMODE_ERROR };
enum { CODEMODE_MESSAGE = 512 };
typedef struct codemode_failure {
  int kind;      /* CODEMODE_TRAP or CODEMODE_ERROR */
  int trap_code; /* of wasmtime_trap_code_enum; -1 for none */
  char message[CODEMODE_MESSAGE];
} codemode_failure;

void codemode_pool(wasm_config_t *, uint32_t instances, size_t max_memory, size_t keep_resident, uint32_t table_elements);
int codemode_define(wasmtime_linker_t *, const char *module, const char *name, int index, const uint8_t *params,
                    size_t nparams, const uint8_t *results, size_t nresults, codemode_failure *);
int codemode_prepare(wasmtime_linker_t *, wasmtime_module_t *, wasmtime_instance_pre_t **, codemode_failure *);
codemode_instance *codemode_instantiate(wasm_engine_t *, wasmtime_instance_pre_t *, uintptr_t handle, int64_t max_memory,
                                        const char *const *exports, size_t nexports, codemode_failure *);
void codemode_delete(codemode_instance *);
/* Calls an export inside an import: the epoch goes on as it does for the call around it. */
int codemode_call_inside(codemode_instance *, int export, wasmtime_val_raw_t *slots, size_t nslots, codemode_failure *);
/* Calls an export; the epoch's callback is asked at every tick from now on. */
int codemode_call(codemode_instance *, int export, wasmtime_val_raw_t *slots, size_t nslots, codemode_failure *);
/* Copies text into new memory of the guest first, and passes pointer and length in slots[at] and slots[at + 1]. */
int codemode_call_text(codemode_instance *, int export, int realloc, const void *text, size_t len, int at,
                       wasmtime_val_raw_t *slots, size_t nslots, codemode_failure *);
int codemode_grow(codemode_instance *, uint64_t pages, codemode_failure *);
void codemode_limit_memory(codemode_instance *, int64_t max_memory);
void codemode_set_fuel(codemode_instance *, uint64_t fuel);
uint64_t codemode_get_fuel(codemode_instance *);
size_t codemode_thread_stack(void);

#endif
