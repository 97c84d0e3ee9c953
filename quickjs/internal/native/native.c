#include "native.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* In native.go. */
extern int codemodeImport(uintptr_t handle, int index, wasmtime_val_raw_t *slots, size_t n);
extern int codemodeTick(uintptr_t handle);

static int fail(codemode_failure *f, int kind, int code, const wasm_byte_vec_t *m) {
  f->kind = kind;
  f->trap_code = code;
  size_t n = m->size < CODEMODE_MESSAGE - 1 ? m->size : CODEMODE_MESSAGE - 1;
  memcpy(f->message, m->data, n);
  f->message[n] = 0;
  return kind;
}

static int from_error(codemode_failure *f, wasmtime_error_t *e) {
  wasm_byte_vec_t m;
  wasmtime_error_message(e, &m);
  fail(f, CODEMODE_ERROR, -1, &m);
  wasm_byte_vec_delete(&m);
  wasmtime_error_delete(e);
  return CODEMODE_ERROR;
}

/* What the host ended needs no words of wasmtime, which can take 100 ms to write its own stack down (RUST_BACKTRACE). */
static int from_host(codemode_failure *f, wasmtime_error_t *e, wasm_trap_t *t) {
  static char message[] = "ended by the host";
  if (e) wasmtime_error_delete(e);
  if (t) wasm_trap_delete(t);
  return fail(f, CODEMODE_ERROR, -1, &(wasm_byte_vec_t){sizeof message - 1, message});
}

static int from_trap(codemode_failure *f, wasm_trap_t *t) {
  wasm_byte_vec_t m;
  wasmtime_trap_code_t code;
  wasm_trap_message(t, &m);
  fail(f, CODEMODE_TRAP, wasmtime_trap_code(t, &code) ? code : -1, &m);
  wasm_byte_vec_delete(&m);
  wasm_trap_delete(t);
  return CODEMODE_TRAP;
}

void codemode_pool(wasm_config_t *config, uint32_t instances, size_t max_memory, size_t keep_resident,
                   uint32_t table_elements) {
  wasmtime_pooling_allocation_config_t *p = wasmtime_pooling_allocation_config_new();
  wasmtime_pooling_allocation_config_total_memories_set(p, instances);
  wasmtime_pooling_allocation_config_total_core_instances_set(p, instances);
  wasmtime_pooling_allocation_config_total_tables_set(p, instances);
  wasmtime_pooling_allocation_config_total_stacks_set(p, 0); /* of asynchronous calls, which there are none */
  wasmtime_pooling_allocation_config_table_elements_set(p, table_elements);
  wasmtime_pooling_allocation_config_max_memory_size_set(p, max_memory);
  wasmtime_pooling_allocation_config_linear_memory_keep_resident_set(p, keep_resident);
  wasmtime_pooling_allocation_config_table_keep_resident_set(p, table_elements * sizeof(void *));
  wasmtime_pooling_allocation_config_max_unused_warm_slots_set(p, instances);
  wasmtime_pooling_allocation_strategy_set(config, p);
  wasmtime_pooling_allocation_config_delete(p);
}

static void refresh(codemode_instance *i) {
  i->base = wasmtime_memory_data(i->context, &i->memory);
  i->size = wasmtime_memory_data_size(i->context, &i->memory);
}

/* Every import comes here; env is its index. The Go side has recorded why, where it says no. */
static wasm_trap_t *import(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *slots, size_t n) {
  codemode_instance *i = wasmtime_context_get_data(wasmtime_caller_context(caller));
  refresh(i);
  if (codemodeImport(i->handle, (int)(intptr_t)env, slots, n) == 0) return NULL;
  i->ended = true;
  static const char message[] = "ended by the host";
  return wasmtime_trap_new(message, sizeof message - 1);
}

static void types(wasm_valtype_vec_t *out, const uint8_t *kinds, size_t n) {
  wasm_valtype_vec_new_uninitialized(out, n);
  for (size_t i = 0; i < n; i++) out->data[i] = wasm_valtype_new(kinds[i]);
}

int codemode_define(wasmtime_linker_t *linker, const char *module, const char *name, int index, const uint8_t *params,
                    size_t nparams, const uint8_t *results, size_t nresults, codemode_failure *f) {
  wasm_valtype_vec_t p, r;
  types(&p, params, nparams);
  types(&r, results, nresults);
  wasm_functype_t *type = wasm_functype_new(&p, &r);
  wasmtime_error_t *e = wasmtime_linker_define_func_unchecked(linker, module, strlen(module), name, strlen(name), type,
                                                              import, (void *)(intptr_t)index, NULL);
  wasm_functype_delete(type);
  return e ? from_error(f, e) : CODEMODE_OK;
}

int codemode_prepare(wasmtime_linker_t *linker, wasmtime_module_t *module, wasmtime_instance_pre_t **pre,
                     codemode_failure *f) {
  wasmtime_error_t *e = wasmtime_linker_instantiate_pre(linker, module, pre);
  return e ? from_error(f, e) : CODEMODE_OK;
}

static wasmtime_error_t *tick(wasmtime_context_t *context, void *data, uint64_t *delta,
                              wasmtime_update_deadline_kind_t *kind) {
  codemode_instance *i = data;
  if (codemodeTick(i->handle) != 0) {
    i->ended = true;
    return wasmtime_error_new("stopped by the host");
  }
  *delta = 1;
  *kind = WASMTIME_UPDATE_DEADLINE_CONTINUE;
  return NULL;
}

codemode_instance *codemode_instantiate(wasm_engine_t *engine, wasmtime_instance_pre_t *pre, uintptr_t handle,
                                        int64_t max_memory, const char *const *exports, size_t nexports,
                                        codemode_failure *f) {
  codemode_instance *i = calloc(1, sizeof *i);
  if (!i) abort();
  i->handle = handle;
  i->store = wasmtime_store_new(engine, i, NULL);
  i->context = wasmtime_store_context(i->store);
  wasmtime_store_epoch_deadline_callback(i->store, tick, i, NULL);
  codemode_limit_memory(i, max_memory);
  wasmtime_instance_t instance;
  wasm_trap_t *trap = NULL;
  wasmtime_error_t *e = wasmtime_instance_pre_instantiate(pre, i->context, &instance, &trap);
  if (e || trap) {
    e ? from_error(f, e) : from_trap(f, trap);
    codemode_delete(i);
    return NULL;
  }
  wasmtime_extern_t item;
  bool ok = wasmtime_instance_export_get(i->context, &instance, "memory", 6, &item) && item.kind == WASMTIME_EXTERN_MEMORY;
  if (ok) i->memory = item.of.memory;
  for (size_t k = 0; ok && k < nexports && k < CODEMODE_MAX_EXPORTS; k++) {
    ok = wasmtime_instance_export_get(i->context, &instance, exports[k], strlen(exports[k]), &item) &&
         item.kind == WASMTIME_EXTERN_FUNC;
    if (ok) i->exports[k] = item.of.func;
  }
  if (!ok) {
    static char missing[] = "an export is missing";
    fail(f, CODEMODE_ERROR, -1, &(wasm_byte_vec_t){sizeof missing - 1, missing});
    codemode_delete(i);
    return NULL;
  }
  refresh(i);
  return i;
}

void codemode_delete(codemode_instance *i) {
  wasmtime_store_delete(i->store);
  free(i);
}

int codemode_call_inside(codemode_instance *i, int export, wasmtime_val_raw_t *slots, size_t nslots, codemode_failure *f) {
  wasm_trap_t *trap = NULL;
  i->ended = false;
  wasmtime_error_t *e = wasmtime_func_call_unchecked(i->context, &i->exports[export], slots, nslots, &trap);
  refresh(i);
  if ((e || trap) && i->ended) return from_host(f, e, trap);
  if (e) return from_error(f, e);
  if (trap) return from_trap(f, trap);
  return CODEMODE_OK;
}

int codemode_call(codemode_instance *i, int export, wasmtime_val_raw_t *slots, size_t nslots, codemode_failure *f) {
  wasmtime_context_set_epoch_deadline(i->context, 1);
  return codemode_call_inside(i, export, slots, nslots, f);
}

int codemode_call_text(codemode_instance *i, int export, int realloc, const void *text, size_t len, int at,
                       wasmtime_val_raw_t *slots, size_t nslots, codemode_failure *f) {
  wasmtime_context_set_epoch_deadline(i->context, 1);
  uint32_t pointer = 0;
  if (len > 0) {
    wasmtime_val_raw_t args[4] = {{0}, {0}, {.i32 = 1}, {.i32 = (int32_t)len}};
    int status = codemode_call_inside(i, realloc, args, 4, f);
    if (status != CODEMODE_OK) return status;
    pointer = (uint32_t)args[0].i32;
    if (pointer > i->size || len > i->size - pointer) {
      static char wild[] = "cabi_realloc gave a pointer outside memory";
      return fail(f, CODEMODE_ERROR, -1, &(wasm_byte_vec_t){sizeof wild - 1, wild});
    }
    memcpy(i->base + pointer, text, len);
  }
  slots[at].i64 = pointer;
  slots[at + 1].i64 = (int64_t)len;
  return codemode_call_inside(i, export, slots, nslots, f);
}

int codemode_grow(codemode_instance *i, uint64_t pages, codemode_failure *f) {
  uint64_t before;
  wasmtime_error_t *e = wasmtime_memory_grow(i->context, &i->memory, pages, &before);
  refresh(i);
  return e ? from_error(f, e) : CODEMODE_OK;
}

void codemode_limit_memory(codemode_instance *i, int64_t max_memory) {
  wasmtime_store_limiter(i->store, max_memory, -1, -1, -1, -1);
}

/* Both fail only where the engine does not meter fuel, in which case nobody asks. */
void codemode_set_fuel(codemode_instance *i, uint64_t fuel) {
  wasmtime_error_t *e = wasmtime_context_set_fuel(i->context, fuel);
  if (e) wasmtime_error_delete(e);
}

uint64_t codemode_get_fuel(codemode_instance *i) {
  uint64_t fuel = 0;
  wasmtime_error_t *e = wasmtime_context_get_fuel(i->context, &fuel);
  if (e) wasmtime_error_delete(e);
  return fuel;
}

/* The stack of the threads that Go makes for cgo: pthread's default. */
size_t codemode_thread_stack(void) {
  pthread_attr_t attr;
  size_t size = 0;
  pthread_attr_init(&attr);
  pthread_attr_getstacksize(&attr, &size);
  pthread_attr_destroy(&attr);
  return size;
}
