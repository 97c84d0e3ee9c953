package main

// The engine makes the text of a stack with every error, and the guest makes an error with every call of a tool, so that
// one that fails can name the line that asked. The C library's printf is most of what that costs: these edits write the
// same text with the engine's own functions, into a buffer that need not grow. An awaited call takes a third less.
var stackEdits = []edit{
	{``,
		`        js_dbuf_init(ctx, &dbuf);
        if (stack_trace_limit == 0)
            goto done;
`,
		`        js_dbuf_init(ctx, &dbuf);
        if (stack_trace_limit == 0)
            goto done;
        dbuf_claim(&dbuf, 240);
`},
	{``,
		`            dbuf_printf(&dbuf, "    at %s", str1);
            JS_FreeCString(ctx, func_name_str);`,
		`            dbuf_putstr(&dbuf, "    at ");
            dbuf_putstr(&dbuf, str1);
            JS_FreeCString(ctx, func_name_str);`},
	{``,
		`                dbuf_printf(&dbuf, " (%s", atom_str ? atom_str : "<null>");
                JS_FreeCString(ctx, atom_str);
                if (line_num1 != -1)
                    dbuf_printf(&dbuf, ":%d:%d", line_num1, col_num1);
`,
		`                dbuf_putstr(&dbuf, " (");
                dbuf_putstr(&dbuf, atom_str ? atom_str : "<null>");
                JS_FreeCString(ctx, atom_str);
                if (line_num1 != -1) {
                    char digits[16];
                    dbuf_putc(&dbuf, ':');
                    dbuf_put(&dbuf, digits, i32toa(digits, line_num1));
                    dbuf_putc(&dbuf, ':');
                    dbuf_put(&dbuf, digits, i32toa(digits, col_num1));
                }
`},
	// Two stacks with the same number are the same stack, so that a loop which calls tools needs only one text.
	{``,
		`JSValue JS_NewError(JSContext *ctx)
{`,
		`uint64_t JS_StackKey(JSContext *ctx)
{
    uint64_t key = 0xcbf29ce484222325;

    for (JSStackFrame *sf = ctx->rt->current_stack_frame; sf; sf = sf->prev_frame) {
        JSObject *p = JS_VALUE_GET_OBJ(sf->cur_func);
        key ^= js_class_has_bytecode(p->class_id) ? (uintptr_t)sf->cur_pc : (uintptr_t)p;
        key *= 0x9e3779b97f4a7c15;
        key ^= key >> 32;
    }
    return key;
}

/* The stack of one error for another, which has none. */
void JS_CopyErrorStack(JSContext *ctx, JSValueConst to, JSValueConst from)
{
    JSObject *p;

    if (!can_store_error_stack(to) || JS_GetClassID(from) != JS_CLASS_ERROR)
        return;
    p = JS_VALUE_GET_OBJ(to);
    p->u.object_data = js_dup(JS_VALUE_GET_OBJ(from)->u.object_data);
}

JSValue JS_NewError(JSContext *ctx)
{`},
	{``, `dbuf_printf(&dbuf, " (missing)");`, `dbuf_putstr(&dbuf, " (missing)");`},
	{``, `dbuf_printf(&dbuf, " (native)");`, `dbuf_putstr(&dbuf, " (native)");`},
}
