package main

// The C library reads numbers in 128-bit arithmetic, which WebAssembly does in software: 6,000 instructions for a decimal.
// These edits read what JSON mostly has: up to fifteen digits with a point somewhere. Such digits and such a power of ten are
// doubles without an error, so that their quotient is the nearest double.
var numberEdits = []edit{
	{``,
		`static int json_parse_number(JSParseState *s, const uint8_t **pp)
{`,
		`static JSValue json_number(const uint8_t *p, const uint8_t *end)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const uint8_t *start = p;
    bool negative = *p == '-';
    uint64_t digits = 0;
    int count = 0, fraction = 0;
    double value;

    if (*p == '-' || *p == '+')
        p++;
    for (; p < end && is_digit(*p); p++, count++)
        digits = digits * 10 + (*p - '0');
    if (p < end && *p == '.')
        for (p++; p < end && is_digit(*p); p++, count++, fraction++)
            digits = digits * 10 + (*p - '0');
    if (p < end || count > 15)
        return js_float64(strtod((const char *)start, NULL));
    if (fraction == 0 && digits <= INT32_MAX && (digits || !negative))
        return js_int32(negative ? -(int32_t)digits : (int32_t)digits);
    value = digits / powers[fraction];
    return js_float64(negative ? -value : value);
}

static int json_parse_number(JSParseState *s, const uint8_t **pp)
{`},
	{``,
		`    s->token.u.num.val = js_float64(strtod((const char *)p_start, NULL));
    *pp = p;`,
		`    s->token.u.num.val = json_number(p_start, p);
    *pp = p;`},
}
