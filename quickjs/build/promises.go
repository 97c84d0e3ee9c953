package main

// A promise that the engine makes for itself, for an async function, a then or an await, it settles through two functions
// made for that alone, as it would have to where a cell's own class makes the promise. These edits settle it directly: a
// capability is then the promise itself, in the place of the function that would resolve it. What a cell can see is the
// same, in the same order. The guest does likewise with the promises of its requests, by the two functions that are
// exported here.
var promiseEdits = []edit{
	{``,
		`static JSValue js_promise_resolve(JSContext *ctx, JSValueConst this_val,
                                  int argc, JSValueConst *argv, int magic);
`,
		`static JSValue js_promise_resolve(JSContext *ctx, JSValueConst this_val,
                                  int argc, JSValueConst *argv, int magic);
static JSValue js_new_capability(JSContext *ctx, JSValue *capability, JSValueConst ctor);
static JSValue js_settle_capability(JSContext *ctx, JSValueConst *capability, bool is_reject, JSValueConst *value);
static JSValue js_settle_promise(JSContext *ctx, struct JSPromiseFunctionData *s, JSValueConst resolution, bool is_reject);
static JSValue js_promise_then2(JSContext *ctx, JSValueConst this_val, JSValueConst *argv, bool unseen);
static JSValue js_promise_watch(JSContext *ctx, JSValue promise, JSValueConst *handlers);
`},
	{``,
		`    if (js_create_resolving_functions(ctx, resolving_funcs, obj)) {`,
		`    if (resolving_funcs && js_create_resolving_functions(ctx, resolving_funcs, obj)) {`},
	// What a resolving function does is apart from the function.
	{``,
		`    if (is_reject || !JS_IsObject(resolution)) {
        goto done;
`,
		`    return js_settle_promise(ctx, s, resolution, is_reject);
}

static JSValue js_settle_promise(JSContext *ctx, struct JSPromiseFunctionData *s, JSValueConst resolution, bool is_reject)
{
    JSValueConst args[3];
    JSValue then;

    if (is_reject || !JS_IsObject(resolution)) {
        goto done;
`},
	{``,
		`JSValue JS_NewPromiseCapability(JSContext *ctx, JSValue *resolving_funcs)
{`,
		`static JSValue js_new_capability(JSContext *ctx, JSValue *capability, JSValueConst ctor)
{
    JSValue promise;

    if (!JS_IsUndefined(ctor) && !js_same_value(ctx, ctor, ctx->promise_ctor))
        return js_new_promise_capability(ctx, capability, ctor);
    promise = js_promise_new(ctx, JS_UNDEFINED, NULL);
    if (!JS_IsException(promise)) {
        capability[0] = js_dup(promise);
        capability[1] = JS_UNDEFINED;
    }
    return promise;
}

static JSValue js_settle_capability(JSContext *ctx, JSValueConst *capability, bool is_reject, JSValueConst *value)
{
    JSPromiseFunctionData direct = {.promise = capability[0]};

    if (JS_GetOpaque(capability[0], JS_CLASS_PROMISE))
        return js_settle_promise(ctx, &direct, *value, is_reject);
    if (JS_IsUndefined(capability[is_reject])) /* of an await, which needs no promise */
        return JS_UNDEFINED;
    return JS_Call(ctx, capability[is_reject], JS_UNDEFINED, 1, value);
}

JSValue JS_NewPendingPromise(JSContext *ctx)
{
    return js_promise_new(ctx, JS_UNDEFINED, NULL);
}

void JS_SettlePromise(JSContext *ctx, JSValueConst promise, bool is_reject, JSValueConst value)
{
    JSPromiseFunctionData direct = {.promise = promise};

    js_settle_promise(ctx, &direct, value, is_reject);
}

JSValue JS_NewPromiseCapability(JSContext *ctx, JSValue *resolving_funcs)
{`},

	// What then makes, and how its reaction settles it.
	{``,
		`    result_promise = js_new_promise_capability(ctx, resolving_funcs, ctor);
    if (have_promise_hook)`,
		`    result_promise = js_new_capability(ctx, resolving_funcs, ctor);
    if (have_promise_hook)`},
	{``,
		`    func = argv[is_reject];
    /* as an extension, we support undefined as value to avoid
       creating a dummy promise in the 'await' implementation of async
       functions */
    if (!JS_IsUndefined(func)) {
        res2 = JS_Call(ctx, func, JS_UNDEFINED, 1, vc(&res));
    } else {
        res2 = JS_UNDEFINED;
    }
`,
		`    res2 = js_settle_capability(ctx, argv, is_reject, vc(&res));
`},

	// What Promise.all and its like do with a promise whose then is the engine's own: the promise that this then makes is
	// seen by nobody, and is not made.
	{``,
		`static JSValue js_promise_then(JSContext *ctx, JSValueConst this_val,
                               int argc, JSValueConst *argv)
{`,
		`static JSValue js_promise_then(JSContext *ctx, JSValueConst this_val,
                               int argc, JSValueConst *argv)
{
    return js_promise_then2(ctx, this_val, argv, false);
}

static JSValue js_promise_watch(JSContext *ctx, JSValue promise, JSValueConst *handlers)
{
    JSValue then = JS_GetProperty(ctx, promise, JS_ATOM_then), ret = then;

    if (!JS_IsException(then)) {
        if (JS_IsCFunction(ctx, then, js_promise_then, 0))
            ret = js_promise_then2(ctx, promise, handlers, true);
        else
            ret = JS_Call(ctx, then, promise, 2, handlers);
        JS_FreeValue(ctx, then);
    }
    JS_FreeValue(ctx, promise);
    return ret;
}

static JSValue js_promise_then2(JSContext *ctx, JSValueConst this_val,
                                JSValueConst *argv, bool unseen)
{`},
	{``,
		`    result_promise = js_new_capability(ctx, resolving_funcs, ctor);
    if (have_promise_hook)`,
		`    if (unseen && (JS_IsUndefined(ctor) || js_same_value(ctx, ctor, ctx->promise_ctor)))
        result_promise = resolving_funcs[0] = resolving_funcs[1] = JS_UNDEFINED;
    else
        result_promise = js_new_capability(ctx, resolving_funcs, ctor);
    if (have_promise_hook)`},
	{`static JSValue js_promise_all(JSContext *ctx, JSValueConst this_val,
                              int argc, JSValueConst *argv, int magic)
{`,
		`            ret = JS_InvokeFree(ctx, next_promise, JS_ATOM_then, 2, then_args);`,
		`            if (js_same_value(ctx, this_val, ctx->promise_ctor)) /* its handlers do not throw */
                ret = js_promise_watch(ctx, next_promise, then_args);
            else
                ret = JS_InvokeFree(ctx, next_promise, JS_ATOM_then, 2, then_args);`},

	// Promise.resolve, Promise.reject, and an await of what is no promise.
	{``,
		`    result_promise = js_new_promise_capability(ctx, resolving_funcs, this_val);
    if (JS_IsException(result_promise))
        return result_promise;
    ret = JS_Call(ctx, resolving_funcs[is_reject], JS_UNDEFINED, 1, argv);
`,
		`    result_promise = js_new_capability(ctx, resolving_funcs, this_val);
    if (JS_IsException(result_promise))
        return result_promise;
    ret = js_settle_capability(ctx, vc(resolving_funcs), is_reject, argv);
`},

	// What an async function returns.
	{``,
		`    promise = JS_NewPromiseCapability(ctx, s->resolving_funcs);`,
		`    promise = js_new_capability(ctx, s->resolving_funcs, JS_UNDEFINED);`},
	{``,
		`            ret2 = JS_Call(ctx, s->resolving_funcs[1], JS_UNDEFINED,
                           1, vc(&error));`,
		`            ret2 = js_settle_capability(ctx, vc(s->resolving_funcs), true, vc(&error));`},
	{``,
		`            ret2 = JS_Call(ctx, s->resolving_funcs[0], JS_UNDEFINED,
                           1, vc(&value));`,
		`            ret2 = js_settle_capability(ctx, vc(s->resolving_funcs), false, vc(&value));`},
}
