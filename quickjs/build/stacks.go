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
	{``, `dbuf_printf(&dbuf, " (missing)");`, `dbuf_putstr(&dbuf, " (missing)");`},
	{``, `dbuf_printf(&dbuf, " (native)");`, `dbuf_putstr(&dbuf, " (native)");`},
}
