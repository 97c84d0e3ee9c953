package main

// Faults of QuickJS-NG 0.17.
var mendEdits = []edit{
	// The place of what ends a run of code is its own, not that of the dead code behind it.
	{``,
		`            pos_next = skip_dead_code(s, bc_buf, bc_len, pos_next,
                                      &line_num, &col_num);
            goto no_change;`,
		`            add_pc2line_info(s, bc_out.size, line_num, col_num);
            dbuf_put(&bc_out, bc_buf + pos, len);
            pos_next = skip_dead_code(s, bc_buf, bc_len, pos_next,
                                      &line_num, &col_num);
            break;`},

	// A token's column is that of its start, also where no space is before it.
	{`static __exception int next_token(JSParseState *s)
{`,
		`    s->token.col_num = s->col_num;
    s->token.ptr = p;`,
		`    s->mark = p;
    s->token.col_num = max_int(1, p - s->eol);
    s->token.ptr = p;`},
	{`static __exception int next_token(JSParseState *s)
{`,
		`    s->token.col_num = max_int(1, s->mark - s->eol);
`, ``},

	// async is a name where it is the parameter of an arrow function: async => 1.
	{``,
		`        tok = peek_token(s, true);
        if (tok == TOK_FUNCTION || tok == '\n')
            goto next;
`,
		`        tok = peek_token(s, true);
        if (tok == TOK_FUNCTION || tok == '\n')
            goto next;
        if (tok == TOK_ARROW)
            return js_parse_function_decl(s, JS_PARSE_FUNC_ARROW, JS_FUNC_NORMAL, JS_ATOM_NULL,
                                          s->token.ptr, s->token.line_num, s->token.col_num);
`},

	// What a regular expression or a private name has wrong is found while the cell is compiled: its place is in the
	// source, not where the compiler was called.
	{``,
		`JSValue JS_NewError(JSContext *ctx)
{`,
		`static void place_exception(JSContext *ctx, const char *filename, int line_num, int col_num, int backtrace_flags)
{
    JSObject *p = JS_VALUE_GET_OBJ(ctx->rt->current_exception);

    JS_FreeValue(ctx, p->u.object_data);
    p->u.object_data = JS_UNDEFINED;
    build_backtrace(ctx, ctx->rt->current_exception, JS_UNDEFINED, filename, line_num, col_num, backtrace_flags);
}

JSValue JS_NewError(JSContext *ctx)
{`},
	{``,
		`                build_backtrace(s->ctx, s->ctx->rt->current_exception, JS_UNDEFINED,
                                s->filename,
                                s->token.line_num,
                                s->token.col_num,
                                backtrace_flags);`,
		`                place_exception(s->ctx, s->filename, s->token.line_num, s->token.col_num, backtrace_flags);`},
	{`static __exception int resolve_variables(JSContext *ctx, JSFunctionDef *s)
{`,
		`                ret = resolve_scope_private_field(ctx, s, var_name, scope, op, &bc_out);
                if (ret < 0)
                    goto fail;`,
		`                ret = resolve_scope_private_field(ctx, s, var_name, scope, op, &bc_out);
                if (ret < 0) {
                    const char *filename = JS_AtomToCString(ctx, s->filename);
                    place_exception(ctx, filename, line_num, col_num, s->backtrace_barrier ? JS_BACKTRACE_FLAG_SINGLE_LEVEL : 0);
                    JS_FreeCString(ctx, filename);
                    goto fail;
                }`},
}
