package main

// QuickJS-NG notes a place in the source only at some of the operations that can throw, and for a call at its first
// argument: an error is then reported on a wrong line, or on none. These edits note a place before every property and
// element access, call, operator, assignment, destructuring, spread and for-of. They add or move calls of
// emit_source_loc_at and change no opcode, so that values and speed stay as they are. RATIONALE.md has the figures.
var placeEdits = []edit{
	{``,
		`    bool accept_lparen = (parse_flags & PF_POSTFIX_CALL) != 0;

    call_type = FUNC_CALL_NORMAL;`,
		`    bool accept_lparen = (parse_flags & PF_POSTFIX_CALL) != 0;
    int call_line_num = s->token.line_num; /* what names the function of a call; */
    int call_col_num = s->token.col_num; /* 0: nothing does, it is the '(' */
    bool call_named = s->token.val == TOK_IDENT || s->token.val == TOK_NEW || s->token.val == TOK_SUPER;

    call_type = FUNC_CALL_NORMAL;`},
	{``,
		`        parse_func_call:
            if (next_token(s))
                return -1;
`,
		`        parse_func_call:
            if (!call_named) {
                call_line_num = s->token.line_num;
                call_col_num = s->token.col_num;
            }
            if (next_token(s))
                return -1;
`},
	{``,
		`            parse_func_call2:
                emit_source_loc(s);
                switch`,
		`            parse_func_call2:
                switch`},
	{``,
		`            call_type = FUNC_CALL_TEMPLATE;
            goto parse_func_call2;`,
		`            call_type = FUNC_CALL_TEMPLATE;
            if (!call_named) {
                call_line_num = s->token.line_num;
                call_col_num = s->token.col_num;
            }
            goto parse_func_call2;`},
	{``,
		`                /* apply function call */
                switch(opcode) {`,
		`                /* apply function call */
                emit_source_loc_at(s, call_line_num, call_col_num);
                switch(opcode) {`},
	{``,
		`            emit_func_call:
                switch(opcode) {`,
		`            emit_func_call:
                emit_source_loc_at(s, call_line_num, call_col_num);
                switch(opcode) {`},
	{``,
		`            call_type = FUNC_CALL_NORMAL;
        } else if (s->token.val == '.') {`,
		`            call_type = FUNC_CALL_NORMAL;
            call_named = false;
        } else if (s->token.val == '.') {`},
	{``,
		`        parse_property:
            if (s->token.val == TOK_PRIVATE_NAME) {`,
		`        parse_property:
            if (call_type == FUNC_CALL_NORMAL) {
                call_line_num = s->token.line_num;
                call_col_num = s->token.col_num;
                call_named = true;
            }
            int field_line_num = s->token.line_num, field_col_num = s->token.col_num;
            if (s->token.val == TOK_PRIVATE_NAME) {`},
	{``,
		`                emit_op(s, OP_scope_get_private_field);
                emit_atom(s, s->token.u.ident.atom);`,
		`                emit_source_loc_at(s, field_line_num, field_col_num);
                emit_op(s, OP_scope_get_private_field);
                emit_atom(s, s->token.u.ident.atom);`},
	{``,
		`                    emit_op(s, OP_get_field);
                    emit_atom(s, s->token.u.ident.atom);
                }
            }
            if (next_token(s))`,
		`                    emit_source_loc_at(s, field_line_num, field_col_num);
                    emit_op(s, OP_get_field);
                    emit_atom(s, s->token.u.ident.atom);
                }
            }
            if (next_token(s))`},
	{``,
		`        parse_array_access:
            prev_op = get_prev_opcode(fd);`,
		`        parse_array_access:
            if (call_type == FUNC_CALL_NORMAL)
                call_named = false;
            int element_line_num = s->token.line_num, element_col_num = s->token.col_num;
            prev_op = get_prev_opcode(fd);`},
	{``,
		`                emit_op(s, OP_get_super_value);
            } else {
                emit_op(s, OP_get_array_el);
            }
        } else {
            break;`,
		`                emit_op(s, OP_get_super_value);
            } else {
                emit_source_loc_at(s, element_line_num, element_col_num);
                emit_op(s, OP_get_array_el);
            }
        } else {
            break;`},
	{``,
		`                emit_op(s, OP_dup);
                emit_op(s, OP_call_constructor);
                emit_u16(s, 0);
            } else {
                call_type = FUNC_CALL_NEW;`,
		`                emit_op(s, OP_dup);
                emit_source_loc_at(s, call_line_num, call_col_num);
                emit_op(s, OP_call_constructor);
                emit_u16(s, 0);
                call_named = false;
            } else {
                call_type = FUNC_CALL_NEW;`},
	{``,
		`        if (next_token(s))
            return -1;
        emit_source_loc(s);
        if (js_parse_expr_binary(s, level - 1, parse_flags))
            return -1;
        emit_op(s, opcode);`,
		`        int op_line_num = s->token.line_num, op_col_num = s->token.col_num;
        if (next_token(s))
            return -1;
        if (js_parse_expr_binary(s, level - 1, parse_flags))
            return -1;
        emit_source_loc_at(s, op_line_num, op_col_num);
        emit_op(s, opcode);`},
	{``,
		`            if (next_token(s))
                return -1;
            if (js_parse_unary(s, PF_POW_ALLOWED))
                return -1;
            emit_op(s, OP_pow);`,
		`            int op_line_num = s->token.line_num, op_col_num = s->token.col_num;
            if (next_token(s))
                return -1;
            if (js_parse_unary(s, PF_POW_ALLOWED))
                return -1;
            emit_source_loc_at(s, op_line_num, op_col_num);
            emit_op(s, OP_pow);`},
	{``,
		`/* allowed parse_flags: PF_POW_ALLOWED, PF_POW_FORBIDDEN */
static __exception int js_parse_unary(JSParseState *s, int parse_flags)
{
    int op;
`,
		`/* allowed parse_flags: PF_POW_ALLOWED, PF_POW_FORBIDDEN */
static __exception int js_parse_unary(JSParseState *s, int parse_flags)
{
    int op;
    int op_line_num = s->token.line_num, op_col_num = s->token.col_num;
`},
	{``,
		`            return -1;
        switch(op) {
        case '-':
            emit_op(s, OP_neg);`,
		`            return -1;
        if (op != TOK_VOID && op != '!')
            emit_source_loc_at(s, op_line_num, op_col_num);
        switch(op) {
        case '-':
            emit_op(s, OP_neg);`},
	{``,
		`            emit_op(s, OP_dec + op - TOK_DEC);`,
		`            emit_source_loc_at(s, op_line_num, op_col_num);
            emit_op(s, OP_dec + op - TOK_DEC);`},
	{``,
		`            emit_op(s, OP_post_dec + op - TOK_DEC);`,
		`            emit_source_loc(s);
            emit_op(s, OP_post_dec + op - TOK_DEC);`},
	{``,
		`        int label;
        if (next_token(s))
            return -1;
        if (get_lvalue(s, &opcode, &scope, &name, &label, NULL, (op != '='), op) < 0)`,
		`        int label;
        int op_line_num = s->token.line_num, op_col_num = s->token.col_num;
        if (next_token(s))
            return -1;
        if (get_lvalue(s, &opcode, &scope, &name, &label, NULL, (op != '='), op) < 0)`},
	{``,
		`        } else {
            emit_op(s, op - TOK_MUL_ASSIGN + OP_mul);
        }
        put_lvalue`,
		`            emit_source_loc_at(s, op_line_num, op_col_num);
        } else {
            emit_source_loc_at(s, op_line_num, op_col_num);
            emit_op(s, op - TOK_MUL_ASSIGN + OP_mul);
        }
        put_lvalue`},
	{``,
		`    if (is_for_of) {
        if (js_parse_assign_expr(s))
            return -1;
    } else {`,
		`    int of_line_num = s->token.line_num, of_col_num = s->token.col_num;
    if (is_for_of) {
        if (js_parse_assign_expr(s))
            return -1;
    } else {`},
	{``,
		`        break_entry.drop_count += 2;
        if (is_async)
            emit_op(s, OP_for_await_of_start);`,
		`        break_entry.drop_count += 2;
        emit_source_loc_at(s, of_line_num, of_col_num);
        if (is_async)
            emit_op(s, OP_for_await_of_start);`},
	{``,
		`        emit_op(s, OP_for_in_start);`,
		`        emit_source_loc_at(s, of_line_num, of_col_num);
        emit_op(s, OP_for_in_start);`},
	{``,
		`        emit_op(s, OP_for_in_next);`,
		`        emit_source_loc_at(s, of_line_num, of_col_num);
        emit_op(s, OP_for_in_next);`},
	{``,
		`    emit_label(s, label_cont);
    if (is_for_of) {
        if (is_async) {
            /* call the next method */`,
		`    emit_label(s, label_cont);
    if (is_for_of) {
        emit_source_loc_at(s, of_line_num, of_col_num);
        if (is_async) {
            /* call the next method */`},
	{``,
		`    if (s->token.val == '{') {
        if (next_token(s))
            return -1;
        /* throw an exception if the value cannot be converted to an object */`,
		`    if (s->token.val == '{') {
        if (next_token(s))
            return -1;
        emit_source_loc(s);
        /* throw an exception if the value cannot be converted to an object */`},
	{``,
		`        block_env.has_iterator = true;
        emit_op(s, OP_for_of_start);`,
		`        block_env.has_iterator = true;
        emit_source_loc_at(s, source_line_num, source_col_num);
        emit_op(s, OP_for_of_start);`},
	{``,
		`            /* shortcut for x: x */
            emit_op(s, OP_scope_get_var);`,
		`            /* shortcut for x: x */
            emit_source_loc_at(s, start_line, start_col);
            emit_op(s, OP_scope_get_var);`},
	{``,
		`        switch(depth_lvalue) {
        case 0:
            emit_op(s, OP_dup);
            break;
        case 1:
            emit_op(s, OP_insert2);`,
		`        emit_source_loc_at(s, op_line_num, op_col_num);
        switch(depth_lvalue) {
        case 0:
            emit_op(s, OP_dup);
            break;
        case 1:
            emit_op(s, OP_insert2);`},
	{``,
		`        int label, label1, depth_lvalue, label2;

        if (next_token(s))`,
		`        int label, label1, depth_lvalue, label2;
        int op_line_num = s->token.line_num, op_col_num = s->token.col_num;

        if (next_token(s))`},
	{``,
		`            if (js_parse_assign_expr2(s, parse_flags))
                return -1;
        } else {
            emit_op(s, OP_undefined);
        }`,
		`            yield_line_num = s->token.line_num;
            yield_col_num = s->token.col_num;
            if (js_parse_assign_expr2(s, parse_flags))
                return -1;
        } else {
            emit_op(s, OP_undefined);
        }`},
	{``,
		`        bool is_star = false, is_async;
`,
		`        bool is_star = false, is_async;
        int yield_line_num = 0, yield_col_num = 0;
`},
	{``,
		`            emit_op(s, is_async ? OP_for_await_of_start : OP_for_of_start);

            /* remove the catch offset`,
		`            emit_source_loc_at(s, yield_line_num, yield_col_num);
            emit_op(s, is_async ? OP_for_await_of_start : OP_for_of_start);

            /* remove the catch offset`},

	// What is spread has the place of its expression.
	{`    /* stack has array, index */
    while`,
		`            if (js_parse_assign_expr(s))
                return -1;
            emit_op(s, OP_append);`,
		`            int spread_line_num = s->token.line_num, spread_col_num = s->token.col_num;
            if (js_parse_assign_expr(s))
                return -1;
            emit_source_loc_at(s, spread_line_num, spread_col_num);
            emit_op(s, OP_append);`},
	{`                /* on stack: array idx */
                while`,
		`                        if (js_parse_assign_expr(s))
                            return -1;
                        /* XXX: could pass is_last indicator? */`,
		`                        int spread_line_num = s->token.line_num, spread_col_num = s->token.col_num;
                        if (js_parse_assign_expr(s))
                            return -1;
                        emit_source_loc_at(s, spread_line_num, spread_col_num);
                        /* XXX: could pass is_last indicator? */`},
	{``,
		`            if (js_parse_assign_expr(s))
                return -1;
            emit_op(s, OP_null);  /* dummy excludeList */`,
		`            int spread_line_num = s->token.line_num, spread_col_num = s->token.col_num;
            if (js_parse_assign_expr(s))
                return -1;
            emit_source_loc_at(s, spread_line_num, spread_col_num);
            emit_op(s, OP_null);  /* dummy excludeList */`},
	{``,
		`                    if (js_parse_assign_expr2(s, parse_flags))
                        goto var_error;
                    set_object_name(s, name);

                    if (tok == TOK_USING) {`,
		`                    int init_line_num = s->token.line_num, init_col_num = s->token.col_num;
                    if (js_parse_assign_expr2(s, parse_flags))
                        goto var_error;
                    set_object_name(s, name);

                    if (tok == TOK_USING) {
                        emit_source_loc_at(s, init_line_num, init_col_num);`},
	{``,
		`            if (js_parse_expr_paren(s))
                goto fail;

            push_scope(s);
            with_idx =`,
		`            int with_line_num = s->token.line_num, with_col_num = s->token.col_num;
            if (js_parse_expr_paren(s))
                goto fail;
            emit_source_loc_at(s, with_line_num, with_col_num);

            push_scope(s);
            with_idx =`},
	{`static __exception int js_parse_template(JSParseState *s, int call, int *argc)`,
		`        if (js_parse_expr(s))
            return -1;
        depth++;`,
		`        emit_source_loc(s); /* of what is made text, where nothing in it has a place */
        if (js_parse_expr(s))
            return -1;
        depth++;`},
}

// Classes: what is extended, static fields and blocks, what a constructor does that nobody wrote, and what one returns.
var classEdits = []edit{
	{``,
		`    const uint8_t *class_start_ptr = s->token.ptr;
`,
		`    const uint8_t *class_start_ptr = s->token.ptr;
    int class_line_num = s->token.line_num, class_col_num = s->token.col_num;
    int heritage_line_num = 0, heritage_col_num = 0;
`},
	{``,
		`        class_flags = JS_DEFINE_CLASS_HAS_HERITAGE;
        if (next_token(s))
            goto fail;
`,
		`        class_flags = JS_DEFINE_CLASS_HAS_HERITAGE;
        if (next_token(s))
            goto fail;
        heritage_line_num = s->token.line_num;
        heritage_col_num = s->token.col_num;
`},
	{``,
		`    emit_op(s, OP_define_class);
    emit_atom(s, class_name1);`,
		`    if (class_flags & JS_DEFINE_CLASS_HAS_HERITAGE)
        emit_source_loc_at(s, heritage_line_num, heritage_col_num);
    emit_op(s, OP_define_class);
    emit_atom(s, class_name1);`},
	{``,
		`                JSFunctionDef *init;
                if (js_parse_function_decl2(s, JS_PARSE_FUNC_CLASS_STATIC_INIT,`,
		`                JSFunctionDef *init;
                emit_source_loc(s);
                if (js_parse_function_decl2(s, JS_PARSE_FUNC_CLASS_STATIC_INIT,`},
	{``,
		`        emit_op(s, OP_dup);
        emit_class_init_end(s, cf);
        emit_op(s, OP_call_method);`,
		`        emit_op(s, OP_dup);
        emit_class_init_end(s, cf);
        emit_source_loc_at(s, class_line_num, class_col_num);
        emit_op(s, OP_call_method);`},
	{``,
		`        if (js_parse_class_default_ctor(s, class_flags & JS_DEFINE_CLASS_HAS_HERITAGE, &ctor_fd))
            goto fail;
`,
		`        if (js_parse_class_default_ctor(s, class_flags & JS_DEFINE_CLASS_HAS_HERITAGE, &ctor_fd))
            goto fail;
        ctor_fd->line_num = class_line_num;
        ctor_fd->col_num = class_col_num;
`},
	{`        CASE(OP_check_ctor):`,
		`                goto exception;`,
		`                sf->cur_pc = pc;
                build_backtrace(ctx, rt->current_exception, JS_UNDEFINED, NULL, 0, 0,
                                JS_BACKTRACE_FLAG_SKIP_FIRST_LEVEL); /* the call is wrong, not the class */
                goto exception;`},
	{`    case TOK_RETURN:
        if (s->cur_func->is_eval) {`,
		`        if (next_token(s))
            goto fail;
        if (s->token.val != ';' && s->token.val != '}' && !s->got_lf) {
            if (js_parse_expr(s))
                goto fail;
            emit_return(s, true);`,
		`        int return_line_num = s->token.line_num, return_col_num = s->token.col_num;
        if (next_token(s))
            goto fail;
        if (s->token.val != ';' && s->token.val != '}' && !s->got_lf) {
            if (js_parse_expr(s))
                goto fail;
            if (s->cur_func->is_derived_class_constructor)
                emit_source_loc_at(s, return_line_num, return_col_num);
            emit_return(s, true);`},
}
