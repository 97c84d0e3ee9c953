/* Handles: a tool's function with what the catalog says of it as its fields, and describe(). One for each tool and cell,
   fixed for good. Cells name many tools, and search finds more, to call few: so the fields and functions of a handle
   exist only when they are looked at. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  abi_string name; /* what its requests call it */
  uint32_t binding;
  abi_string said;     /* what the catalog says of the tool, as JSON text, until somebody asks */
  JSValue description; /* and then as an object that no cell has seen; undefined where there is nothing to say */
  JSValue describe, to_json; /* undefined until somebody asks */
} handle;

static JSClassID handle_class;
static JSValue call_function;
static JSValue handles; /* by path: those that the cell has */
static JSAtom atom_name, atom_length, atom_describe, atom_to_json, atom_then;

static handle *handle_of(JSValueConst object) { return JS_GetOpaque(object, handle_class); }

/* A call of the handle that is `this`. */
static JSValue call(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  handle *h = handle_of(self);
  return requests_call(h->name.ptr, h->name.len, h->binding, SHAPE_VALUE, argc, argv, argc > 1 ? argv[1] : JS_UNDEFINED);
}

/* A class's own call has no frame, and the engine gives errors a stack where their frame ends: call has one. */
static JSValue on_call(JSContext *c, JSValueConst function, JSValueConst self, int argc, JSValueConst *argv, int flags) {
  return JS_Call(ctx, call_function, function, argc, argv);
}

/* describe(): data[0] is the tool's name, magic its binding. */
static JSValue on_describe(JSContext *c, JSValueConst self, int argc, JSValueConst *argv, int magic, JSValueConst *data) {
  size_t len;
  const char *name = JS_ToCStringLen(ctx, &len, data[0]); /* the host's own text */
  if (!name) return JS_EXCEPTION;
  JSValue p = requests_describe(name, len, magic);
  JS_FreeCString(ctx, name);
  return p;
}

/* toJSON(): data[0] is what the catalog says of the tool. */
static JSValue on_to_json(JSContext *c, JSValueConst self, int argc, JSValueConst *argv, int magic, JSValueConst *data) {
  return JS_DupValue(ctx, data[0]);
}

/* Reads what the catalog says of the tool. 1 there is such an object, 0 there is none, -1 exception. */
static int described(handle *h) {
  if (h->said.len) {
    JSValue v = JS_ParseJSON(ctx, h->said.ptr, h->said.len, PRELUDE_FILE);
    if (JS_IsException(v)) return -1;
    JS_FreeValue(ctx, h->description);
    h->description = v;
    release_memory(h->said.ptr);
    h->said = (abi_string){0};
  }
  return JS_IsObject(h->description);
}

/* A function of a handle, made when it is first asked for. */
static JSValue function_of(JSValue *kept, JSCFunctionData *function, int magic, JSValueConst data) {
  if (JS_IsUndefined(*kept)) {
    *kept = JS_NewCFunctionData(ctx, function, 0, magic, 1, &data);
    JS_FreezeObject(ctx, *kept);
  }
  return JS_DupValue(ctx, *kept);
}

static int found(JSPropertyDescriptor *d, JSValue value, int flags) {
  if (d)
    *d = (JSPropertyDescriptor){.flags = flags, .value = value, .getter = JS_UNDEFINED, .setter = JS_UNDEFINED};
  else
    JS_FreeValue(ctx, value);
  return 1;
}

static int get_own_property(JSContext *c, JSPropertyDescriptor *d, JSValueConst object, JSAtom key) {
  handle *h = handle_of(object);
  if (key == atom_name) return found(d, JS_NewStringLen(ctx, h->name.ptr, h->name.len), 0);
  if (key == atom_length) return found(d, JS_NewInt32(ctx, 1), 0);
  if (key == atom_then) return 0; /* an await asks this of everything */
  int r = described(h);
  if (r <= 0) return r;
  if (key == atom_describe) {
    JSValue name = JS_NewStringLen(ctx, h->name.ptr, h->name.len);
    JSValue f = function_of(&h->describe, on_describe, h->binding, name);
    JS_FreeValue(ctx, name);
    return found(d, f, JS_PROP_ENUMERABLE);
  }
  if (key == atom_to_json) {
    if (JS_IsUndefined(h->to_json)) JS_FreezeObject(ctx, h->description);
    return found(d, function_of(&h->to_json, on_to_json, 0, h->description), 0);
  }
  JSPropertyDescriptor field;
  r = JS_GetOwnProperty(ctx, &field, h->description, key);
  return r <= 0 ? r : found(d, field.value, JS_PROP_ENUMERABLE);
}

static int get_own_property_names(JSContext *c, JSPropertyEnum **keys, uint32_t *count, JSValueConst object) {
  handle *h = handle_of(object);
  JSPropertyEnum *fields = NULL;
  uint32_t n = 0, at = 0;
  int some = described(h);
  if (some < 0 || (some && JS_GetOwnPropertyNames(ctx, &fields, &n, h->description, JS_GPN_STRING_MASK) < 0)) return -1;
  JSPropertyEnum *out = js_malloc(ctx, (n + 4) * sizeof *out);
  out[at++].atom = JS_DupAtom(ctx, atom_length);
  out[at++].atom = JS_DupAtom(ctx, atom_name);
  for (uint32_t i = 0; i < n; i++) out[at++].atom = JS_DupAtom(ctx, fields[i].atom);
  JS_FreePropertyEnum(ctx, fields, n);
  if (some) {
    out[at++].atom = JS_DupAtom(ctx, atom_describe);
    out[at++].atom = JS_DupAtom(ctx, atom_to_json);
  }
  *keys = out;
  *count = at;
  return 0;
}

static int delete_property(JSContext *c, JSValueConst object, JSAtom key) {
  int r = get_own_property(ctx, NULL, object, key);
  return r < 0 ? r : !r;
}

static int define_own_property(JSContext *c, JSValueConst object, JSAtom key, JSValueConst value, JSValueConst getter,
                               JSValueConst setter, int flags) {
  if (flags & JS_PROP_THROW) {
    JS_ThrowTypeError(ctx, "a tool's handle is read-only");
    return -1;
  }
  return 0;
}

static void finalizer(JSRuntime *rt, JSValueConst object) {
  handle *h = handle_of(object);
  if (!h) return;
  JS_FreeValueRT(rt, h->description);
  JS_FreeValueRT(rt, h->describe);
  JS_FreeValueRT(rt, h->to_json);
  release_memory(h->said.ptr);
  release_memory(h->name.ptr);
  release_memory(h);
}

static void mark(JSRuntime *rt, JSValueConst object, JS_MarkFunc *mark_func) {
  handle *h = handle_of(object);
  if (!h) return;
  JS_MarkValue(rt, h->description, mark_func);
  JS_MarkValue(rt, h->describe, mark_func);
  JS_MarkValue(rt, h->to_json, mark_func);
}

static JSClassExoticMethods exotic = {
    .get_own_property = get_own_property,
    .get_own_property_names = get_own_property_names,
    .delete_property = delete_property,
    .define_own_property = define_own_property,
};
static JSClassDef handle_def = {"Function", .finalizer = finalizer, .gc_mark = mark, .call = on_call, .exotic = &exotic};

/* The handle that the cell has at a path; undefined where it has none. */
static JSValue known(JSAtom path) {
  JSPropertyDescriptor d;
  int r = JS_GetOwnProperty(ctx, &d, handles, path);
  return r < 0 ? JS_EXCEPTION : r ? d.value : JS_UNDEFINED;
}

static JSValue make(JSAtom path, handle said) {
  JSValue object = JS_NewObjectClass(ctx, handle_class);
  if (JS_IsException(object)) return object;
  handle *h = malloc(sizeof *h);
  if (!h) out_of_memory();
  *h = said;
  h->describe = h->to_json = JS_UNDEFINED;
  JS_SetOpaque(object, h);
  JS_PreventExtensions(ctx, object);
  JS_DefinePropertyValue(ctx, handles, path, JS_DupValue(ctx, object), 0);
  return object;
}

JSValue handle_get(JSAtom path, uint32_t binding, abi_string name, abi_string data) {
  JSValue h = known(path);
  if (JS_IsUndefined(h)) return make(path, (handle){.name = name, .binding = binding, .said = data, .description = JS_UNDEFINED});
  if (name.len) release_memory(name.ptr);
  if (data.len) release_memory(data.ptr);
  return h;
}

/* host.handle(path, name, binding, description) */
static JSValue host_handle(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  int32_t binding = 0;
  JS_ToInt32(ctx, &binding, argv[2]);
  JSAtom path = JS_ValueToAtom(ctx, argv[0]);
  JSValue h = known(path);
  buffer name = {0};
  if (JS_IsUndefined(h)) {
    if (text_put(&name, argv[1]) == 0)
      h = make(path, (handle){.name = {name.ptr, name.len}, .binding = binding, .description = JS_DupValue(ctx, argv[3])});
  } else if (!JS_IsException(h)) {
    /* A name under MCP comes without a description, whose text is from outside: the first search that finds it says it. */
    handle *named = handle_of(h);
    if (!named->said.len && JS_IsUndefined(named->description)) named->description = JS_DupValue(ctx, argv[3]);
  }
  JS_FreeAtom(ctx, path);
  return h;
}

void handles_reset(void) {
  JS_FreeValue(ctx, handles);
  handles = JS_NewObjectProto(ctx, JS_NULL);
}

void handles_init(JSValueConst host) {
  JSRuntime *rt = JS_GetRuntime(ctx);
  JS_NewClassID(rt, &handle_class);
  JS_NewClass(rt, handle_class, &handle_def);
  JSValue f = JS_NewCFunction(ctx, NULL, "", 0);
  JS_SetClassProto(ctx, handle_class, JS_GetPrototype(ctx, f));
  JS_FreeValue(ctx, f);
  call_function = JS_NewCFunction(ctx, call, "tool", 0);
  atom_name = JS_NewAtom(ctx, "name");
  atom_length = JS_NewAtom(ctx, "length");
  atom_describe = JS_NewAtom(ctx, "describe");
  atom_to_json = JS_NewAtom(ctx, "toJSON");
  atom_then = JS_NewAtom(ctx, "then");
  handles = JS_NewObjectProto(ctx, JS_NULL);
  host_define(host, "handle", JS_NewCFunction(ctx, host_handle, "handle", 4));
}
