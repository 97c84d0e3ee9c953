/* Names that cost nothing until they are used. A scope is an object whose properties the host resolves: the global
   scope's prototype (bare tool names), `tools`, `MCP` and what is below it. What a name stands for is made once and
   kept. Its properties cannot be written, deleted or added to. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  char *path;
  size_t len;
  JSValue kept; /* null-prototype object: the names used so far */
} scope;

static JSClassID scope_class;
static bool sealed;
static JSValue materialise = JS_UNDEFINED;

static scope *scope_of(JSValueConst object) { return JS_GetOpaque(object, scope_class); }

/* path + "." + name, or the name alone in the global scope. */
static char *child_path(const scope *s, const char *name, size_t name_len, size_t *len) {
  size_t dot = s->len ? 1 : 0;
  *len = s->len + dot + name_len;
  char *path = malloc(*len + 1);
  if (!path) out_of_memory();
  memcpy(path, s->path, s->len);
  if (dot) path[s->len] = '.';
  memcpy(path + s->len + dot, name, name_len);
  path[*len] = 0;
  return path;
}

/* What a resolved name stands for: a handle where it is a tool, else what the prelude makes of it. Takes the node. */
static JSValue value_of(const char *path, size_t len, int standing, int binding, abi_string name, abi_string data) {
  JSValue value;
  if (standing == STANDING_TOOL) {
    JSAtom at = binding == BINDING_CALLABLE ? JS_NewAtomLen(ctx, name.ptr, name.len) : JS_NewAtomLen(ctx, path, len);
    value = handle_get(at, binding, name, data);
    JS_FreeAtom(ctx, at);
    return value;
  }
  JSValue parsed = data.len ? JS_ParseJSON(ctx, data.ptr, data.len, PRELUDE_FILE) : JS_UNDEFINED;
  if (data.len) release_memory(data.ptr);
  if (name.len) release_memory(name.ptr);
  JSValue args[2] = {JS_NewStringLen(ctx, path, len), parsed};
  value = JS_IsException(parsed) ? JS_EXCEPTION : JS_Call(ctx, materialise, JS_UNDEFINED, 2, (JSValueConst *)args);
  JS_FreeValue(ctx, args[0]);
  JS_FreeValue(ctx, args[1]);
  return value;
}

/* Asks the host what stands at a name and keeps it. 1 found, 0 not, -1 exception. */
static int find(scope *s, JSAtom key) {
  JSValue name = JS_AtomToValue(ctx, key);
  bool is_name = JS_IsString(name);
  JS_FreeValue(ctx, name);
  if (!is_name) return 0;
  size_t name_len, len;
  const char *text = JS_AtomToCStringLen(ctx, &name_len, key);
  if (!text) return -1;
  /* A tool of such a name would make its scope a promise, or rewrite it where it is returned: `await tools` would call
     it. It is still there for tools.call. */
  bool reserved = s->len && (!strcmp(text, "then") || !strcmp(text, "toJSON"));
  if (reserved || text_lone_surrogate(text, name_len)) {
    JS_FreeCString(ctx, text);
    return 0;
  }
  char *path = child_path(s, text, name_len, &len);
  JS_FreeCString(ctx, text);
  abi_option_node found = {0};
  bridge_resolve(path, len, &found);
  int r = 0;
  if (found.some) {
    JSValue value = value_of(path, len, found.node.standing, found.node.binding, found.node.name, found.node.data);
    r = -1;
    if (!JS_IsException(value)) r = JS_DefinePropertyValue(ctx, s->kept, key, value, JS_PROP_ENUMERABLE) < 0 ? -1 : 1;
  }
  release_memory(path);
  return r;
}

static int get_own_property(JSContext *c, JSPropertyDescriptor *d, JSValueConst object, JSAtom key) {
  scope *s = scope_of(object);
  if (!s) return 0;
  int r = JS_GetOwnProperty(ctx, d, s->kept, key);
  if (r != 0) return r;
  r = find(s, key);
  return r <= 0 ? r : JS_GetOwnProperty(ctx, d, s->kept, key);
}

static int get_own_property_names(JSContext *c, JSPropertyEnum **keys, uint32_t *count, JSValueConst object) {
  scope *s = scope_of(object);
  abi_string text = {0};
  *keys = NULL;
  *count = 0;
  if (!s) return 0;
  bridge_names(s->path, s->len, &text);
  JSValue list = JS_ParseJSON(ctx, text.len ? text.ptr : "", text.len, PRELUDE_FILE);
  if (text.len) release_memory(text.ptr);
  int64_t len;
  if (JS_IsException(list) || JS_GetLength(ctx, list, &len) < 0) return -1;
  JSPropertyEnum *out = js_malloc(ctx, (len + 1) * sizeof *out);
  for (int64_t i = 0; i < len; i++) {
    JSValue name = JS_GetPropertyInt64(ctx, list, i);
    out[i].atom = JS_ValueToAtom(ctx, name);
    out[i].is_enumerable = true;
    JS_FreeValue(ctx, name);
  }
  JS_FreeValue(ctx, list);
  *keys = out;
  *count = len;
  return 0;
}

static int delete_property(JSContext *c, JSValueConst object, JSAtom key) {
  scope *s = scope_of(object);
  JSPropertyDescriptor d;
  int r = s ? JS_GetOwnProperty(ctx, &d, s->kept, key) : 0;
  if (r > 0) JS_FreeValue(ctx, d.value);
  return r < 0 ? r : !r;
}

static int define_own_property(JSContext *c, JSValueConst object, JSAtom key, JSValueConst value, JSValueConst getter,
                               JSValueConst setter, int flags) {
  if (!sealed)
    return JS_DefineProperty(ctx, object, key, value, getter, setter, flags | JS_PROP_NO_EXOTIC);
  if (flags & JS_PROP_THROW) {
    JS_ThrowTypeError(ctx, "this object is read-only");
    return -1;
  }
  return 0;
}

static void finalizer(JSRuntime *rt, JSValueConst object) {
  scope *s = scope_of(object);
  if (!s) return;
  JS_FreeValueRT(rt, s->kept);
  free(s->path);
  free(s);
}

static void mark(JSRuntime *rt, JSValueConst object, JS_MarkFunc *mark_func) {
  scope *s = scope_of(object);
  if (s) JS_MarkValue(rt, s->kept, mark_func);
}

static JSClassExoticMethods exotic = {
    .get_own_property = get_own_property,
    .get_own_property_names = get_own_property_names,
    .delete_property = delete_property,
    .define_own_property = define_own_property,
};
static JSClassDef scope_def = {"Names", .finalizer = finalizer, .gc_mark = mark, .exotic = &exotic};

void names_init(void) {
  JSRuntime *rt = JS_GetRuntime(ctx);
  JS_NewClassID(rt, &scope_class);
  JS_NewClass(rt, scope_class, &scope_def);
}

void names_seal(void) { sealed = true; }



void names_forget(JSValueConst object) {
  scope *s = scope_of(object);
  JS_FreeValue(ctx, s->kept);
  s->kept = JS_NewObjectProto(ctx, JS_NULL);
}

void names_set_materialise(JSValueConst function) { materialise = JS_DupValue(ctx, function); }

JSValue names_scope(const char *path, size_t len) {
  JSValue object = JS_NewObjectProtoClass(ctx, JS_NULL, scope_class);
  if (JS_IsException(object)) return object;
  scope *s = malloc(sizeof *s);
  if (!s) out_of_memory();
  s->path = malloc(len + 1);
  if (!s->path) out_of_memory();
  memcpy(s->path, path, len);
  s->path[len] = 0;
  s->len = len;
  s->kept = JS_NewObjectProto(ctx, JS_NULL);
  JS_SetOpaque(object, s);
  if (sealed) JS_PreventExtensions(ctx, object); /* and no prototype */
  return object;
}
