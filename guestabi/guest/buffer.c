/* Memory. The engine would make running out of it a catchable error; here it ends the cell: the allocator says so to
   the host and never returns NULL. The limit itself is the host's: it refuses memory.grow. */
#include "guest.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

bool memory_scrubbed;

_Noreturn void out_of_memory(void) {
  bridge_out_of_memory();
  __builtin_trap();
}

static void *checked(void *p) {
  if (!p) out_of_memory();
  return p;
}

static void *memory_calloc(void *opaque, size_t count, size_t size) { return checked(calloc(count, size)); }
static void *memory_malloc(void *opaque, size_t size) { return checked(malloc(size)); }
/* Freed memory is zeroed: what is dead must not cost bytes in a snapshot. */
static void memory_free(void *opaque, void *ptr) {
  if (!ptr) return;
  memset(ptr, 0, malloc_usable_size(ptr));
  __asm__ volatile("" : : "r"(ptr) : "memory"); /* else the compiler leaves out what is stored just before free */
  free(ptr);
}
static void *memory_realloc(void *opaque, void *ptr, size_t size) {
  if (size == 0) {
    memory_free(opaque, ptr);
    return NULL;
  }
  /* While the image is made, growing and shrinking must not leave bytes behind either. Later they may: to grow in place
     is cheaper. */
  if (ptr && memory_scrubbed) {
    size_t usable = malloc_usable_size(ptr);
    void *moved = checked(calloc(1, size));
    memcpy(moved, ptr, usable < size ? usable : size);
    memory_free(opaque, ptr);
    return moved;
  }
  return checked(realloc(ptr, size));
}
static size_t memory_usable(const void *ptr) { return malloc_usable_size((void *)ptr); }

const JSMallocFunctions memory_functions = {
    .js_calloc = memory_calloc,
    .js_malloc = memory_malloc,
    .js_free = memory_free,
    .js_realloc = memory_realloc,
    .js_malloc_usable_size = memory_usable,
};

void release_memory(void *ptr) { memory_free(NULL, ptr); }

/* The host's way to hand over bytes. A NUL follows them, which the engine's parsers want. */
EXPORT("cabi_realloc") void *cabi_realloc(void *ptr, size_t old_size, size_t align, size_t new_size) {
  if (new_size == 0) {
    free(ptr);
    return (void *)align;
  }
  char *p = checked(realloc(ptr, new_size + 1));
  p[new_size] = 0;
  return p;
}

/* memcpy is an instruction that calls the host's, which for a few bytes takes longer than to move them here. */
static inline void copy(char *to, const char *from, size_t len) {
  if (len >= 8 && len <= 16) {
    uint64_t head, tail;
    memcpy(&head, from, 8);
    memcpy(&tail, from + len - 8, 8);
    memcpy(to, &head, 8);
    memcpy(to + len - 8, &tail, 8);
  } else if (len >= 4 && len < 8) {
    uint32_t head, tail;
    memcpy(&head, from, 4);
    memcpy(&tail, from + len - 4, 4);
    memcpy(to, &head, 4);
    memcpy(to + len - 4, &tail, 4);
  } else if (len < 4) {
    for (size_t i = 0; i < len; i++) to[i] = from[i];
  } else {
    memcpy(to, from, len);
  }
}

void buffer_put(buffer *b, const char *text, size_t len) {
  if (b->full) return;
  if (b->limit && b->len + len > b->limit) {
    len = b->limit - b->len;
    while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80) len--; /* whole code points only */
    b->full = true;
  }
  if (b->len + len > b->cap) {
    /* Twice as much while that is little, so that few bytes are moved; then a quarter more, so that little is unused. */
    size_t cap = b->cap ? b->cap * 2 : 256;
    if (cap > 64 << 10 || cap < b->len + len) cap = b->len + len + (b->len + len) / 4;
    if (b->ptr == b->room) {
      char *moved = memory_malloc(NULL, cap);
      b->ptr = b->len ? memcpy(moved, b->ptr, b->len) : moved;
    } else {
      b->ptr = memory_realloc(NULL, b->ptr, cap);
    }
    b->cap = cap;
  }
  copy(b->ptr + b->len, text, len);
  b->len += len;
}

void buffer_puts(buffer *b, const char *text) { buffer_put(b, text, strlen(text)); }

void buffer_free(buffer *b) {
  if (b->ptr != b->room) memory_free(NULL, b->ptr);
  *b = (buffer){0};
}
