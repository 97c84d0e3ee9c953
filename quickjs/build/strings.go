package main

// What is long and crosses the bridge is mostly text, and the engine looks at each of its bytes by itself: one turn of a
// loop takes a nanosecond or more, of which metering is a part. These edits look at eight bytes at a time where a run of
// ASCII is written or repeated (objects.go has the one that is read from JSON). The strings are the same.
var stringEdits = []edit{
	// A string as UTF-8: how many bytes are no ASCII,
	{`const char *JS_ToCStringLen2(JSContext *ctx, size_t *plen, JSValueConst val1,`,
		`        for (pos = 0; pos < len; pos++) {
            count += src[pos] >> 7;
        }
`,
		`        for (pos = 0; len - pos >= 8; pos += 8) {
            uint64_t w;
            memcpy(&w, src + pos, 8);
            count += __builtin_popcountll(w & 0x8080808080808080);
        }
        for (; pos < len; pos++) {
            count += src[pos] >> 7;
        }
`},
	// and the runs of ASCII in one that has others.
	{`const char *JS_ToCStringLen2(JSContext *ctx, size_t *plen, JSValueConst val1,`,
		`        while (pos < len) {
            c = src[pos++];
            if (c < 0x80) {
`,
		`        while (pos < len) {
            while (len - pos >= 4) {
                uint64_t w;
                memcpy(&w, src + pos, 8);
                if (w & 0xFF80FF80FF80FF80)
                    break;
                q[0] = w;
                q[1] = w >> 16;
                q[2] = w >> 32;
                q[3] = w >> 48;
                q += 4;
                pos += 4;
            }
            if (pos == len)
                break;
            c = src[pos++];
            if (c < 0x80) {
`},
	// repeat, padStart, padEnd
	{`static int string_buffer_fill(StringBuffer *s, int c, int count)`,
		`    while (count-- > 0) {
        if (string_buffer_putc16(s, c))
            return -1;
    }
`,
		`    if (count > 0 && !s->is_wide_char && c < 0x100 && !s->error_status) {
        memset(&str8(s->str)[s->len], c, count);
        s->len += count;
        return 0;
    }
    while (count-- > 0) {
        if (string_buffer_putc16(s, c))
            return -1;
    }
`},
}
