package main

import "fmt"

// A cell that computes on is stopped where the engine polls for it: at jumps and calls. It polls after it has jumped, when
// its pc is elsewhere, and before a call has a frame; and jumps have no place. These edits poll before the jump, note where,
// for what is stopped without a poll, leave what has no frame to the next poll, and give jumps the place of their keyword.
var jumpEdits = []edit{
	{``,
		`static inline __exception int js_poll_interrupts(JSContext *ctx)
{`,
		`#define js_poll_before_jump() do { \
        if (unlikely(--ctx->interrupt_counter <= 0)) { \
            sf->cur_pc = pc; \
            if (__js_poll_interrupts(ctx)) \
                goto exception; \
        } \
    } while (0)

/* Whether code of the cell is under way, and not only functions of the engine that a job called. */
static bool in_bytecode(JSRuntime *rt)
{
    for (JSStackFrame *sf = rt->current_stack_frame; sf; sf = sf->prev_frame)
        if (js_class_has_bytecode(JS_VALUE_GET_OBJ(sf->cur_func)->class_id))
            return true;
    return false;
}

static inline __exception int js_poll_interrupts(JSContext *ctx)
{`},
	{``,
		`    if (js_poll_interrupts(caller_ctx))
        return JS_EXCEPTION;
    if (unlikely(JS_VALUE_GET_TAG(func_obj) != JS_TAG_OBJECT)) {
        if (flags & JS_CALL_FLAG_GENERATOR) {
`,
		`    if (unlikely(!rt->current_stack_frame)) {
        caller_ctx->interrupt_counter -= 100; /* a job costs more than a call */
    } else if (unlikely(--caller_ctx->interrupt_counter <= 0)
           &&  !(flags & JS_CALL_FLAG_GENERATOR) && in_bytecode(rt)
           &&  __js_poll_interrupts(caller_ctx)) {
        return JS_EXCEPTION;
    }
    if (unlikely(JS_VALUE_GET_TAG(func_obj) != JS_TAG_OBJECT)) {
        if (flags & JS_CALL_FLAG_GENERATOR) {
            caller_ctx->interrupt_counter -= 10; /* an await costs more than a branch */
`},
	{``,
		` exception:
    if (needs_backtrace(rt->current_exception)
`,
		` exception:
    ctx->interrupt_counter -= 100; /* and a stack much more */
    if (needs_backtrace(rt->current_exception)
`},
	pollBeforeGoto("goto", "(int32_t)get_u32(pc)"),
	pollBeforeGoto("goto16", "(int16_t)get_u16(pc)"),
	pollBeforeGoto("goto8", "(int8_t)pc[0]"),
	pollBeforeBranch("if_true", "res", "(int32_t)get_u32(pc - 4) - 4"),
	pollBeforeBranch("if_false", "!res", "(int32_t)get_u32(pc - 4) - 4"),
	pollBeforeBranch("if_true8", "res", "(int8_t)pc[-1] - 1"),
	pollBeforeBranch("if_false8", "!res", "(int8_t)pc[-1] - 1"),

	{`    case TOK_IF:
        {`,
		`            if (next_token(s))
                goto fail;
`,
		`            int if_line_num = s->token.line_num, if_col_num = s->token.col_num;
            if (next_token(s))
                goto fail;
`},
	{`    case TOK_IF:
        {`,
		`            label1 = emit_goto(s, OP_if_false, -1);`,
		`            emit_source_loc_at(s, if_line_num, if_col_num);
            label1 = emit_goto(s, OP_if_false, -1);`},
	{`    case TOK_WHILE:
        {`,
		`            if (next_token(s))
                goto fail;
`,
		`            int loop_line_num = s->token.line_num, loop_col_num = s->token.col_num;
            if (next_token(s))
                goto fail;
`},
	{`    case TOK_WHILE:
        {`,
		`            emit_goto(s, OP_if_false, label_break);

            if (js_parse_statement(s))
                goto fail;
            emit_goto(s, OP_goto, label_cont);`,
		`            emit_source_loc_at(s, loop_line_num, loop_col_num);
            emit_goto(s, OP_if_false, label_break);

            if (js_parse_statement(s))
                goto fail;
            emit_source_loc_at(s, loop_line_num, loop_col_num);
            emit_goto(s, OP_goto, label_cont);`},
	{`    case TOK_DO:
        {`,
		`            if (next_token(s))
                goto fail;
`,
		`            int loop_line_num = s->token.line_num, loop_col_num = s->token.col_num;
            if (next_token(s))
                goto fail;
`},
	{`    case TOK_DO:
        {`,
		`            emit_goto(s, OP_if_true, label1);`,
		`            emit_source_loc_at(s, loop_line_num, loop_col_num);
            emit_goto(s, OP_if_true, label1);`},
	{``,
		`            int is_cont = s->token.val - TOK_BREAK;
            int label;
`,
		`            int is_cont = s->token.val - TOK_BREAK;
            int label;

            emit_source_loc(s);
`},
	{`            /* test expression */
            if (s->token.val == ';') {`,
		`                emit_goto(s, OP_if_false, label_break);`,
		`                emit_source_loc_at(s, source_line_num, source_col_num);
                emit_goto(s, OP_if_false, label_break);`},
	{``,
		`                if (label_test != label_body)
                    emit_goto(s, OP_goto, label_test);`,
		`                if (label_test != label_body) {
                    emit_source_loc_at(s, source_line_num, source_col_num);
                    emit_goto(s, OP_goto, label_test);
                }`},
	{`            if (label_test != label_body && label_cont != label_test) {`,
		`            } else {
                emit_goto(s, OP_goto, label_cont);`,
		`            } else {
                emit_source_loc_at(s, source_line_num, source_col_num);
                emit_goto(s, OP_goto, label_cont);`},
	{``,
		`    /* on stack: enum_rec / enum_obj value bool */
    emit_goto(s, OP_if_false, label_next);`,
		`    /* on stack: enum_rec / enum_obj value bool */
    emit_source_loc_at(s, source_line_num, source_col_num);
    emit_goto(s, OP_if_false, label_next);`},
}

// pollBeforeGoto and pollBeforeBranch move the poll in the interpreter's case of a jump before the jump.
func pollBeforeGoto(op, distance string) edit {
	head := fmt.Sprintf("        CASE(OP_%s):\n", op)
	return edit{"", head + fmt.Sprintf(`            pc += %s;
            if (unlikely(js_poll_interrupts(ctx)))
                goto exception;
`, distance), head + fmt.Sprintf(`            js_poll_before_jump();
            pc += %s;
`, distance)}
}

func pollBeforeBranch(op, condition, distance string) edit {
	return edit{fmt.Sprintf("        CASE(OP_%s):\n", op), fmt.Sprintf(`                if (%s) {
                    pc += %s;
                }
                if (unlikely(js_poll_interrupts(ctx)))
                    goto exception;
`, condition, distance), fmt.Sprintf(`                js_poll_before_jump();
                if (%s) {
                    pc += %s;
                }
`, condition, distance)}
}
