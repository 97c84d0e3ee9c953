package main

// What a tool gets and gives is mostly a small object. The engine reads one from JSON through its general ways of defining
// a property, with a string made of each name; these edits take the short ways that end in the same object. And they let
// the guest read an object's fields where that can run no code of the cell, without making a list of their names first.
var objectEdits = []edit{
	// A string without escapes is made at once.
	{``,
		`    StringBuffer b_s, *b = &b_s;

    if (string_buffer_init(s->ctx, b, 48))
        goto fail;

    p = *pp;
    for(;;) {
        if (p >= s->buf_end) {
            goto end_of_input;
        }

        // Fast path: batch`,
		`    StringBuffer b_s, *b = &b_s;

    p = json_ascii_end(*pp, s->buf_end);
    if (p < s->buf_end && *p == '"') {
        s->token.u.str.str = js_new_string8_len(s->ctx, (const char *)*pp, p - *pp);
        if (JS_IsException(s->token.u.str.str))
            return -1;
        s->token.val = TOK_STRING;
        s->token.u.str.sep = '"';
        *pp = p + 1;
        return 0;
    }
    if (string_buffer_init(s->ctx, b, 48))
        goto fail;

    p = *pp;
    for(;;) {
        if (p >= s->buf_end) {
            goto end_of_input;
        }

        // Fast path: batch`},
	{``,
		`static int json_parse_string(JSParseState *s, const uint8_t **pp)
{`,
		`static const uint8_t *json_ascii_end(const uint8_t *p, const uint8_t *end)
{
    while (end - p >= 8) {
        const uint64_t ones = 0x0101010101010101;
        uint64_t w, low, backslash;
        memcpy(&w, p, 8);
        low = w ^ ones * 2; /* makes '"' less than 0x21, as control characters are, and nothing else */
        backslash = w ^ ones * '\\';
        if ((w | (low - ones * 0x21) | (backslash - ones)) & ones * 0x80)
            break;
        p += 8;
    }
    while (p < end && *p != '"' && *p != '\\' && *p >= 0x20 && *p < 0x80)
        p++;
    return p;
}

static int json_parse_string(JSParseState *s, const uint8_t **pp)
{`},
	{`static int json_parse_string(JSParseState *s, const uint8_t **pp)
{`,
		`        while (p < s->buf_end && *p != '"' && *p != '\\' && *p >= 0x20 && *p < 0x80) {
            p++;
        }
`,
		`        p = json_ascii_end(p, s->buf_end);
`},

	// A new field of a new object, a new element of a new array.
	{`static JSValue json_parse_value(JSParseState *s, JSONParseRecord *pr)
{`,
		`                    ret = JS_DefinePropertyValue(ctx, val, prop_name,
                                                 prop_val, JS_PROP_C_W_E);
                    JS_FreeAtom(ctx, prop_name);`,
		`                    ret = json_add_field(ctx, val, prop_name, prop_val);
                    JS_FreeAtom(ctx, prop_name);`},
	{`static JSValue json_parse_value(JSParseState *s, JSONParseRecord *pr)
{`,
		`                    ret = JS_DefinePropertyValueUint32(ctx, val, idx, el, JS_PROP_C_W_E);
                    if (ret < 0)
                        goto fail;
                    if (s->token.val == ']')`,
		`                    ret = json_add_element(ctx, val, idx, el);
                    if (ret < 0)
                        goto fail;
                    if (s->token.val == ']')`},
	{``,
		`static JSValue json_parse_value(JSParseState *s, JSONParseRecord *pr)
{`,
		`/* Not inlined: json_parse_value is called once for each level of a value, on a stack that is small. */
static no_inline int json_add_field(JSContext *ctx, JSValueConst obj, JSAtom name, JSValue value)
{
    JSObject *p = JS_VALUE_GET_OBJ(obj);
    JSProperty *pr;

    if (find_own_property1(p, name))
        return JS_DefinePropertyValue(ctx, obj, name, value, JS_PROP_C_W_E);
    pr = add_property(ctx, p, name, JS_PROP_C_W_E);
    if (!pr) {
        JS_FreeValue(ctx, value);
        return -1;
    }
    pr->u.value = value;
    return 1;
}

static no_inline int json_add_element(JSContext *ctx, JSValueConst array, uint32_t at, JSValue value)
{
    JSObject *p = JS_VALUE_GET_OBJ(array);

    if (p->fast_array && p->u.array.count == at)
        return add_fast_array_element(ctx, p, value, 0);
    return JS_DefinePropertyValueUint32(ctx, array, at, value, JS_PROP_C_W_E);
}

/* How many fields JS_FlatField can be asked for; -1 where obj is not a plain object whose fields are primitive data with
   names of ASCII, in the order of the fields. */
int JS_FlatFields(JSContext *ctx, JSValueConst obj)
{
    JSObject *p = JS_VALUE_GET_OBJ(obj);
    JSShapeProperty *prs;
    int i;

    if (p->class_id != JS_CLASS_OBJECT || p->is_exotic)
        return -1;
    prs = get_shape_prop(p->shape);
    for(i = 0; i < p->shape->prop_count; i++, prs++) {
        JSAtomStruct *name;
        if (prs->atom == JS_ATOM_NULL)
            continue;
        if (__JS_AtomIsTaggedInt(prs->atom) || (prs->flags & JS_PROP_TMASK) != JS_PROP_NORMAL)
            return -1;
        name = ctx->rt->atom_array[prs->atom];
        if (name->atom_type != JS_ATOM_TYPE_STRING || name->is_wide_char)
            return -1;
        switch(JS_VALUE_GET_NORM_TAG(p->prop[i].u.value)) {
        case JS_TAG_STRING:
        case JS_TAG_INT:
        case JS_TAG_FLOAT64:
        case JS_TAG_BOOL:
        case JS_TAG_NULL:
        case JS_TAG_UNDEFINED:
            break;
        default:
            return -1;
        }
        for(uint32_t k = 0; k < name->len; k++) {
            if (str8(name)[k] >= 0x80)
                return -1;
        }
        if (name->len > 0 && is_digit(str8(name)[0])) /* may be an index, and those come first */
            return -1;
    }
    return p->shape->prop_count;
}

/* One of them, and whether it is enumerable: nothing is copied. */
bool JS_FlatField(JSContext *ctx, JSValueConst obj, int i, const char **name, size_t *len, JSValueConst *value)
{
    JSObject *p = JS_VALUE_GET_OBJ(obj);
    JSShapeProperty *prs = get_shape_prop(p->shape) + i;
    JSAtomStruct *atom = ctx->rt->atom_array[prs->atom];

    if (prs->atom == JS_ATOM_NULL || !(prs->flags & JS_PROP_ENUMERABLE))
        return false;
    *name = (const char *)str8(atom);
    *len = atom->len;
    *value = p->prop[i].u.value;
    return true;
}

static JSValue json_parse_value(JSParseState *s, JSONParseRecord *pr)
{`},
}
