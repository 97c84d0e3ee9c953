/* URLs as the WHATWG URL Standard has them, on UTF-8 bytes: parsing, resolving against a base, serialising, and the
   parts' setters. What is missing is IDNA: a host that is not ASCII is refused. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  buffer scheme, username, password, host, path, query, fragment; /* the path is opaque, or "/a/b", or empty */
  bool has_host, has_query, has_fragment, opaque;
  int port; /* -1 for none */
} url;

typedef struct { const char *ptr; size_t len; } slice;

static const char *failure; /* why the last parse failed */

static bool fail(const char *why) {
  failure = why;
  return false;
}

static void release(url *u) {
  buffer *parts[] = {&u->scheme, &u->username, &u->password, &u->host, &u->path, &u->query, &u->fragment};
  for (int i = 0; i < 7; i++) buffer_free(parts[i]);
}

static void set(buffer *b, const char *s, size_t len) {
  b->len = 0;
  buffer_put(b, s, len);
}
static void copy(buffer *to, const buffer *from) { set(to, from->ptr, from->len); }
static bool is(const buffer *b, const char *s) { return b->len == strlen(s) && !memcmp(b->ptr, s, b->len); }

static bool alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool digit(char c) { return c >= '0' && c <= '9'; }
static char lower(char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }
static int hex(char c) { return digit(c) ? c - '0' : lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1; }

static const struct { const char *name; int port; } specials[] = {
    {"http", 80}, {"https", 443}, {"ws", 80}, {"wss", 443}, {"ftp", 21}, {"file", -1}};

/* The default port of a special scheme, -1 for file, -2 for any other scheme. */
static int default_port(const buffer *scheme) {
  for (int i = 0; i < 6; i++)
    if (is(scheme, specials[i].name)) return specials[i].port;
  return -2;
}
static bool special(const url *u) { return default_port(&u->scheme) != -2; }
static bool is_file(const url *u) { return is(&u->scheme, "file"); }

/* The percent-encode sets, beyond control characters and what is not ASCII, which all of them encode. */
#define QUERY " \"#<>"
#define PATH QUERY "?^`{}"
#define USERINFO PATH "/:;=@[\\]|"

static void encode(buffer *b, slice s, const char *chars) {
  static const char digits[] = "0123456789ABCDEF";
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = s.ptr[i];
    if (c > 0x1F && c < 0x7F && !strchr(chars, c)) {
      buffer_put(b, &s.ptr[i], 1);
    } else {
      char e[3] = {'%', digits[c >> 4], digits[c & 15]};
      buffer_put(b, e, 3);
    }
  }
}

static void decode(buffer *b, slice s) {
  for (size_t i = 0; i < s.len; i++) {
    char c = s.ptr[i];
    if (c == '%' && i + 2 < s.len && hex(s.ptr[i + 1]) >= 0 && hex(s.ptr[i + 2]) >= 0) {
      c = (char)(hex(s.ptr[i + 1]) << 4 | hex(s.ptr[i + 2]));
      i += 2;
    }
    buffer_put(b, &c, 1);
  }
}

static slice from(slice s, size_t n) { return (slice){s.ptr + n, s.len - n}; }
static slice upto(slice s, size_t n) { return (slice){s.ptr, n}; }

/* How many bytes come before the first of these characters. */
static size_t before(slice s, const char *chars) {
  size_t n = 0;
  while (n < s.len && !(s.ptr[n] && strchr(chars, s.ptr[n]))) n++;
  return n;
}

/* --- hosts --- */

/* One part of a dotted address: decimal, 0x hexadecimal or 0 octal. False where it is no number. */
static bool ipv4_number(slice s, uint64_t *value) {
  unsigned base = 10;
  if (!s.len) return false;
  if (s.len >= 2 && s.ptr[0] == '0' && lower(s.ptr[1]) == 'x') {
    base = 16;
    s = from(s, 2);
  } else if (s.len >= 2 && s.ptr[0] == '0') {
    base = 8;
    s = from(s, 1);
  }
  *value = 0;
  for (size_t i = 0; i < s.len; i++) {
    int d = hex(s.ptr[i]);
    if (d < 0 || d >= (int)base) return false;
    if (*value <= UINT32_MAX) *value = *value * base + d;
  }
  return true;
}

/* 1 where the host ends in a number and is an address, 0 where it is a name, -1 where it is a broken address. */
static int ipv4(buffer *host) {
  slice parts[6], s = {host->ptr, host->len};
  size_t count = 0, last = s.len;
  if (last && s.ptr[last - 1] == '.') last--;
  size_t start = last;
  while (start > 0 && s.ptr[start - 1] != '.') start--;
  slice end = {s.ptr + start, last - start};
  bool digits = end.len > 0;
  for (size_t i = 0; i < end.len; i++) digits = digits && digit(end.ptr[i]);
  uint64_t n, address = 0;
  if (!digits && !(end.len >= 2 && ipv4_number(end, &n))) return 0;
  for (slice rest = {s.ptr, last}; count < 5;) {
    size_t len = before(rest, ".");
    parts[count++] = upto(rest, len);
    if (len == rest.len) break;
    rest = from(rest, len + 1);
  }
  if (count > 4) return -1;
  for (size_t i = 0; i < count; i++) {
    if (!ipv4_number(parts[i], &n)) return -1;
    if (i + 1 < count) {
      if (n > 255) return -1;
      address |= n << 8 * (3 - i);
    } else {
      if (n >= 1ull << 8 * (5 - count)) return -1;
      address |= n;
    }
  }
  host->len = 0;
  for (int i = 3; i >= 0; i--) {
    unsigned byte = address >> 8 * i & 255;
    char text[4];
    size_t len = 0;
    if (byte >= 100) text[len++] = '0' + byte / 100;
    if (byte >= 10) text[len++] = '0' + byte / 10 % 10;
    text[len++] = '0' + byte % 10;
    buffer_put(host, text, len);
    if (i) buffer_puts(host, ".");
  }
  return 1;
}

static bool ipv6(buffer *host, slice s) {
  uint16_t pieces[8] = {0};
  int piece = 0, compress = -1;
  size_t i = 0;
  if (i < s.len && s.ptr[i] == ':') {
    if (s.len < 2 || s.ptr[1] != ':') return false;
    i = 2;
    compress = ++piece;
  }
  while (i < s.len) {
    if (piece == 8) return false;
    if (s.ptr[i] == ':') {
      if (compress >= 0) return false;
      i++;
      compress = ++piece;
      continue;
    }
    unsigned value = 0;
    size_t start = i;
    while (i < s.len && i - start < 4 && hex(s.ptr[i]) >= 0) value = value << 4 | hex(s.ptr[i++]);
    if (i < s.len && s.ptr[i] == '.') {
      if (i == start || piece > 6) return false;
      i = start;
      int seen = 0;
      while (i < s.len) {
        if (seen > 0) {
          if (s.ptr[i] != '.' || seen == 4) return false;
          i++;
        }
        if (i >= s.len || !digit(s.ptr[i])) return false;
        int byte = -1;
        while (i < s.len && digit(s.ptr[i])) {
          if (byte == 0) return false; /* a leading zero */
          byte = (byte < 0 ? 0 : byte * 10) + (s.ptr[i++] - '0');
          if (byte > 255) return false;
        }
        pieces[piece] = pieces[piece] << 8 | byte;
        seen++;
        if (seen == 2 || seen == 4) piece++;
      }
      if (seen != 4) return false;
      break;
    }
    if (i < s.len && s.ptr[i] == ':') {
      if (++i >= s.len) return false;
    } else if (i < s.len) {
      return false;
    }
    pieces[piece++] = value;
  }
  if (compress >= 0) {
    int swaps = piece - compress;
    for (piece = 7; piece != 0 && swaps > 0; piece--, swaps--) {
      uint16_t t = pieces[compress + swaps - 1];
      pieces[compress + swaps - 1] = pieces[piece];
      pieces[piece] = t;
    }
  } else if (piece != 8) {
    return false;
  }
  /* The first longest run of at least two zeroes becomes "::". */
  int best = -1, best_len = 1;
  for (int k = 0; k < 8; k++) {
    int n = 0;
    while (k + n < 8 && !pieces[k + n]) n++;
    if (n > best_len) best = k, best_len = n;
    if (n) k += n - 1;
  }
  buffer_puts(host, "[");
  for (int k = 0; k < 8; k++) {
    if (k == best) {
      buffer_puts(host, k ? ":" : "::");
      k += best_len - 1;
      continue;
    }
    char text[4];
    size_t len = 0;
    for (int shift = 12; shift >= 0; shift -= 4)
      if (pieces[k] >> shift || !shift) text[len++] = "0123456789abcdef"[pieces[k] >> shift & 15];
    buffer_put(host, text, len);
    if (k < 7) buffer_puts(host, ":");
  }
  buffer_puts(host, "]");
  return true;
}

#define FORBIDDEN_HOST "\t\n\r #/:<>?@[\\]^|"

static bool parse_host(buffer *host, slice s, bool is_special) {
  host->len = 0;
  if (s.len && s.ptr[0] == '[') {
    if (s.ptr[s.len - 1] != ']' || !ipv6(host, (slice){s.ptr + 1, s.len - 2})) return fail("its IPv6 address is not valid");
    return true;
  }
  if (!is_special) {
    for (size_t i = 0; i < s.len; i++)
      if (!s.ptr[i] || strchr(FORBIDDEN_HOST, s.ptr[i])) return fail("its host holds a character that no host may have");
    encode(host, s, "");
    return true;
  }
  decode(host, s);
  for (size_t i = 0; i < host->len; i++) {
    unsigned char c = host->ptr[i];
    if (c >= 0x80) return fail("its host is not ASCII; write an international name in its xn-- form");
    if (c <= 0x20 || c == 0x7F || c == '%' || strchr(FORBIDDEN_HOST, c))
      return fail("its host holds a character that no host may have");
    host->ptr[i] = lower(c);
  }
  if (!host->len) return fail("it has no host");
  if (ipv4(host) < 0) return fail("its IPv4 address is not valid");
  return true;
}

/* --- paths --- */

static bool drive_letter(slice s) { return s.len == 2 && alpha(s.ptr[0]) && (s.ptr[1] == ':' || s.ptr[1] == '|'); }
static bool starts_with_drive_letter(slice s) {
  return s.len >= 2 && drive_letter(upto(s, 2)) && (s.len == 2 || strchr("/\\?#", s.ptr[2]));
}

static void shorten(url *u) {
  if (is_file(u) && u->path.len == 3 && alpha(u->path.ptr[1]) && u->path.ptr[2] == ':') return;
  while (u->path.len > 0 && u->path.ptr[--u->path.len] != '/') {
  }
}

/* Whether s is dots: 1 for ".", 2 for "..", also percent-encoded; 0 for anything else. */
static int dots(slice s) {
  int n = 0;
  for (size_t i = 0; i < s.len; n++) {
    if (s.ptr[i] == '.')
      i++;
    else if (i + 2 < s.len && s.ptr[i] == '%' && s.ptr[i + 1] == '2' && lower(s.ptr[i + 2]) == 'e')
      i += 3;
    else
      return 0;
  }
  return n <= 2 ? n : 0;
}

/* The path state: appends segments up to the end of s, which has no query or fragment in it any more. */
static void parse_path(url *u, slice s) {
  const char *separators = special(u) ? "/\\" : "/";
  for (;;) {
    size_t len = before(s, separators);
    slice segment = upto(s, len);
    bool last = len == s.len;
    int n = dots(segment);
    if (n == 2) shorten(u);
    if (n) {
      if (last) buffer_puts(&u->path, "/");
    } else {
      buffer_puts(&u->path, "/");
      size_t at = u->path.len;
      bool drive = is_file(u) && at == 1 && drive_letter(segment);
      encode(&u->path, segment, PATH);
      if (drive) u->path.ptr[at + 1] = ':';
    }
    if (last) return;
    s = from(s, len + 1);
  }
}

/* The path start state. */
static void start_path(url *u, slice s) {
  if (special(u)) {
    if (s.len && (s.ptr[0] == '/' || s.ptr[0] == '\\')) s = from(s, 1);
    parse_path(u, s);
  } else if (s.len) {
    if (s.ptr[0] == '/') s = from(s, 1);
    parse_path(u, s);
  }
}

static void set_query(url *u, slice s) {
  u->has_query = true;
  u->query.len = 0;
  encode(&u->query, s, special(u) ? QUERY "'" : QUERY);
}

static void set_fragment(url *u, slice s) {
  u->has_fragment = true;
  u->fragment.len = 0;
  encode(&u->fragment, s, " \"<>`");
}

/* Takes query and fragment off the end of s. */
static slice take_tail(url *u, slice s) {
  size_t hash = before(s, "#");
  if (hash < s.len) set_fragment(u, from(s, hash + 1));
  s = upto(s, hash);
  size_t mark = before(s, "?");
  if (mark < s.len) set_query(u, from(s, mark + 1));
  return upto(s, mark);
}

/* --- the parser --- */

static bool parse_port(url *u, slice s) {
  uint32_t port = 0;
  if (!s.len) {
    u->port = -1;
    return true;
  }
  for (size_t i = 0; i < s.len; i++) {
    if (!digit(s.ptr[i])) return fail("its port is not a number");
    port = port * 10 + (s.ptr[i] - '0');
    if (port > 65535) return fail("its port is larger than 65535");
  }
  u->port = (int)port == default_port(&u->scheme) ? -1 : (int)port;
  return true;
}

/* Where the port's colon is in host:port; the length where there is none. */
static size_t port_colon(slice s) {
  bool inside = false;
  for (size_t i = 0; i < s.len; i++) {
    if (s.ptr[i] == '[') inside = true;
    if (s.ptr[i] == ']') inside = false;
    if (s.ptr[i] == ':' && !inside) return i;
  }
  return s.len;
}

/* s is what follows "//". */
static bool parse_authority(url *u, slice s) {
  bool is_special = special(u);
  size_t end = before(s, is_special ? "/\\?#" : "/?#"), at = end;
  slice rest = from(s, end);
  s = upto(s, end);
  while (at > 0 && s.ptr[at - 1] != '@') at--;
  if (at > 0) {
    slice user = upto(s, at - 1);
    size_t colon = before(user, ":");
    encode(&u->username, upto(user, colon), USERINFO);
    if (colon < user.len) encode(&u->password, from(user, colon + 1), USERINFO);
    s = from(s, at);
    if (!s.len) return fail("it has no host");
  }
  size_t colon = port_colon(s);
  if (colon == 0 && (is_special || s.len)) return fail("it has no host");
  if (!parse_host(&u->host, upto(s, colon), is_special)) return false;
  u->has_host = true;
  if (colon < s.len && !parse_port(u, from(s, colon + 1))) return false;
  start_path(u, take_tail(u, rest));
  return true;
}

static slice skip_slashes(slice s) {
  while (s.len && (s.ptr[0] == '/' || s.ptr[0] == '\\')) s = from(s, 1);
  return s;
}

static void take_authority(url *u, const url *base) {
  copy(&u->username, &base->username);
  copy(&u->password, &base->password);
  copy(&u->host, &base->host);
  u->has_host = base->has_host;
  u->port = base->port;
}

static void take_path(url *u, const url *base) {
  copy(&u->path, &base->path);
  u->opaque = base->opaque;
}

static void take_query(url *u, const url *base) {
  copy(&u->query, &base->query);
  u->has_query = base->has_query;
}

static bool slash(const url *u, slice s, size_t i) {
  return i < s.len && (s.ptr[i] == '/' || (s.ptr[i] == '\\' && special(u)));
}

/* The relative states, and what file adds to them: s is resolved against base. */
static bool parse_relative(url *u, slice s, const url *base) {
  if (slash(u, s, 0)) {
    if (slash(u, s, 1)) return parse_authority(u, special(u) ? skip_slashes(s) : from(s, 2));
    take_authority(u, base);
    start_path(u, take_tail(u, s));
    return true;
  }
  take_authority(u, base);
  take_path(u, base);
  if (!s.len || s.ptr[0] == '#') take_query(u, base);
  size_t end = before(s, "?#");
  slice path = take_tail(u, s);
  if (end > 0) {
    shorten(u);
    parse_path(u, path);
  }
  return true;
}

static bool parse_file(url *u, slice s, const url *base) {
  u->has_host = true;
  if (slash(u, s, 0)) {
    if (slash(u, s, 1)) {
      s = from(s, 2);
      slice host = upto(s, before(s, "/\\?#"));
      if (drive_letter(host)) {
        parse_path(u, take_tail(u, s));
        return true;
      }
      if (host.len) {
        if (!parse_host(&u->host, host, true)) return false;
        if (is(&u->host, "localhost")) u->host.len = 0;
      }
      start_path(u, take_tail(u, from(s, host.len)));
      return true;
    }
    if (base) {
      copy(&u->host, &base->host);
      if (!starts_with_drive_letter(from(s, 1)) && base->path.len >= 3 && alpha(base->path.ptr[1]) &&
          base->path.ptr[2] == ':' && (base->path.len == 3 || base->path.ptr[3] == '/'))
        set(&u->path, base->path.ptr, 3);
    }
    parse_path(u, take_tail(u, from(s, 1)));
    return true;
  }
  if (!base) {
    parse_path(u, take_tail(u, s));
    return true;
  }
  copy(&u->host, &base->host);
  take_path(u, base);
  if (!s.len || s.ptr[0] == '#') take_query(u, base);
  size_t end = before(s, "?#");
  bool drive = starts_with_drive_letter(s);
  slice path = take_tail(u, s);
  if (end > 0) {
    if (drive)
      u->path.len = 0;
    else
      shorten(u);
    parse_path(u, path);
  }
  return true;
}

static void parse_opaque(url *u, slice s) {
  u->opaque = true;
  s = take_tail(u, s);
  encode(&u->path, s, "");
  /* A space before a query or fragment would be lost when the URL is parsed again. */
  if (u->path.len && u->path.ptr[u->path.len - 1] == ' ' && (u->has_query || u->has_fragment)) {
    u->path.len--;
    buffer_puts(&u->path, "%20");
  }
}

/* How long the scheme at the start of s is, without its colon; 0 where there is none. */
static size_t scheme_length(slice s) {
  if (!s.len || !alpha(s.ptr[0])) return 0;
  for (size_t i = 1; i < s.len; i++) {
    if (s.ptr[i] == ':') return i;
    if (!alpha(s.ptr[i]) && !digit(s.ptr[i]) && !(s.ptr[i] && strchr("+-.", s.ptr[i]))) return 0;
  }
  return 0;
}

static bool parse(url *u, slice s, const url *base) {
  u->port = -1;
  size_t scheme = scheme_length(s);
  if (!scheme) {
    if (!base) return fail("it has no scheme and there is no base");
    copy(&u->scheme, &base->scheme);
    if (base->opaque) {
      if (!s.len || s.ptr[0] != '#') return fail("its base cannot have relative URLs");
      take_path(u, base);
      take_query(u, base);
      set_fragment(u, from(s, 1));
      return true;
    }
    return is_file(u) ? parse_file(u, s, base) : parse_relative(u, s, base);
  }
  for (size_t i = 0; i < scheme; i++) {
    char c = lower(s.ptr[i]);
    buffer_put(&u->scheme, &c, 1);
  }
  s = from(s, scheme + 1);
  bool same = base && base->scheme.len == u->scheme.len && !memcmp(base->scheme.ptr, u->scheme.ptr, u->scheme.len);
  if (is_file(u)) return parse_file(u, s, same ? base : NULL);
  if (special(u)) {
    if (same && !(s.len >= 2 && s.ptr[0] == '/' && s.ptr[1] == '/')) return parse_relative(u, s, base);
    return parse_authority(u, skip_slashes(s));
  }
  if (s.len >= 2 && s.ptr[0] == '/' && s.ptr[1] == '/') return parse_authority(u, from(s, 2));
  if (s.len && s.ptr[0] == '/')
    parse_path(u, take_tail(u, from(s, 1)));
  else
    parse_opaque(u, s);
  return true;
}

/* Text without tabs and newlines, and without spaces and control characters around it. */
static int clean(buffer *b, JSValueConst v, bool trim) {
  if (text_put(b, v) < 0) return -1;
  size_t start = 0, end = b->len, len = 0;
  if (trim) {
    while (start < end && (unsigned char)b->ptr[start] <= 0x20) start++;
    while (end > start && (unsigned char)b->ptr[end - 1] <= 0x20) end--;
  }
  for (size_t i = start; i < end; i++)
    if (b->ptr[i] != '\t' && b->ptr[i] != '\n' && b->ptr[i] != '\r') b->ptr[len++] = b->ptr[i];
  b->len = len;
  return 0;
}

/* --- answers to the prelude --- */

static void put_port(buffer *b, const url *u) {
  char text[6];
  size_t at = sizeof text;
  int port = u->port;
  if (port < 0) return;
  do text[--at] = '0' + port % 10;
  while (port /= 10);
  buffer_put(b, text + at, sizeof text - at);
}

static JSValue string(const buffer *b) { return JS_NewStringLen(ctx, b->len ? b->ptr : "", b->len); }

/* [href, protocol, username, password, host, hostname, port, pathname, search, hash, origin] */
static JSValue parts(const url *u) {
  buffer b = {0}, host = {0}, origin = {0};
  JSValue list[11];
  int n = 1;
  buffer_put(&b, u->scheme.ptr, u->scheme.len);
  buffer_puts(&b, ":");
  list[n++] = string(&b);
  list[n++] = string(&u->username);
  list[n++] = string(&u->password);
  buffer_put(&host, u->host.ptr, u->host.len);
  if (u->port >= 0) {
    buffer_puts(&host, ":");
    put_port(&host, u);
  }
  list[n++] = string(&host);
  list[n++] = string(&u->host);
  if (special(u) && !is_file(u)) {
    buffer_put(&origin, b.ptr, b.len);
    buffer_puts(&origin, "//");
    buffer_put(&origin, host.ptr, host.len);
  } else {
    buffer_puts(&origin, "null");
  }
  if (u->has_host) {
    buffer_puts(&b, "//");
    if (u->username.len || u->password.len) {
      buffer_put(&b, u->username.ptr, u->username.len);
      if (u->password.len) {
        buffer_puts(&b, ":");
        buffer_put(&b, u->password.ptr, u->password.len);
      }
      buffer_puts(&b, "@");
    }
    buffer_put(&b, host.ptr, host.len);
  } else if (!u->opaque && u->path.len > 1 && u->path.ptr[1] == '/') {
    buffer_puts(&b, "/."); /* else the path would be read as a host */
  }
  buffer_put(&b, u->path.ptr, u->path.len);
  host.len = 0;
  put_port(&host, u);
  list[n++] = string(&host);
  list[n++] = string(&u->path);
  for (int i = 0; i < 2; i++) {
    const buffer *tail = i ? &u->fragment : &u->query;
    host.len = 0;
    if (i ? u->has_fragment : u->has_query) {
      buffer_puts(&b, i ? "#" : "?");
      buffer_put(&b, tail->ptr, tail->len);
      if (tail->len) {
        buffer_puts(&host, i ? "#" : "?");
        buffer_put(&host, tail->ptr, tail->len);
      }
    }
    list[n++] = string(&host);
  }
  list[n++] = string(&origin);
  list[0] = string(&b);
  buffer_free(&b);
  buffer_free(&host);
  buffer_free(&origin);
  return JS_NewArrayFrom(ctx, n, list);
}

/* host.url(text, base | undefined) => parts, or the reason why it is no URL */
static JSValue host_url(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  buffer text = {0}, base_text = {0};
  url u = {0}, base = {0};
  bool based = !JS_IsUndefined(argv[1]);
  JSValue answer = JS_EXCEPTION;
  if (clean(&text, argv[0], true) == 0 && (!based || clean(&base_text, argv[1], true) == 0)) {
    if (based && !parse(&base, (slice){base_text.ptr, base_text.len}, NULL))
      answer = JS_NewString(ctx, "its base is not a URL");
    else
      answer = parse(&u, (slice){text.ptr, text.len}, based ? &base : NULL) ? parts(&u) : JS_NewString(ctx, failure);
  }
  release(&u);
  release(&base);
  buffer_free(&text);
  buffer_free(&base_text);
  return answer;
}

enum part { PROTOCOL, USERNAME, PASSWORD, HOST, HOSTNAME, PORT, PATHNAME, SEARCH, HASH };

static void set_part(url *u, enum part part, slice s) {
  bool no_credentials = !u->has_host || !u->host.len || is_file(u);
  switch (part) {
  case PROTOCOL: {
    buffer scheme = {0};
    buffer_put(&scheme, s.ptr, s.len);
    buffer_puts(&scheme, ":");
    size_t len = scheme_length((slice){scheme.ptr, scheme.len});
    for (size_t i = 0; i < len; i++) scheme.ptr[i] = lower(scheme.ptr[i]);
    scheme.len = len;
    bool file = is(&scheme, "file");
    if (len && (default_port(&scheme) != -2) == special(u) && !(file && (u->username.len || u->password.len || u->port >= 0)) &&
        !(is_file(u) && !u->host.len)) {
      copy(&u->scheme, &scheme);
      if (u->port == default_port(&u->scheme)) u->port = -1;
    }
    buffer_free(&scheme);
    return;
  }
  case USERNAME:
  case PASSWORD: {
    if (no_credentials) return;
    buffer *b = part == USERNAME ? &u->username : &u->password;
    b->len = 0;
    encode(b, s, USERINFO);
    return;
  }
  case HOST:
  case HOSTNAME: {
    if (u->opaque) return;
    s = upto(s, before(s, special(u) ? "/\\?#" : "/?#"));
    size_t colon = is_file(u) ? s.len : port_colon(s);
    if (colon < s.len && (part == HOSTNAME || colon == 0)) return;
    if (colon == 0 && ((special(u) && !is_file(u)) || u->username.len || u->password.len || u->port >= 0)) return;
    buffer host = {0};
    if (colon == 0 || parse_host(&host, upto(s, colon), special(u))) {
      if (is_file(u) && is(&host, "localhost")) host.len = 0;
      copy(&u->host, &host);
      u->has_host = true;
      slice port = colon < s.len ? from(s, colon + 1) : (slice){"", 0};
      size_t digits = 0;
      while (digits < port.len && digit(port.ptr[digits])) digits++;
      if (digits) parse_port(u, upto(port, digits));
    }
    buffer_free(&host);
    return;
  }
  case PORT: {
    size_t digits = 0;
    while (digits < s.len && digit(s.ptr[digits])) digits++;
    if (!no_credentials && (digits || !s.len)) parse_port(u, upto(s, digits));
    return;
  }
  case PATHNAME:
    if (u->opaque) return;
    u->path.len = 0;
    start_path(u, s);
    if (!u->path.len && !u->has_host) buffer_puts(&u->path, "/"); /* else it would become opaque */
    return;
  case SEARCH:
    u->has_query = s.len > 0;
    u->query.len = 0;
    if (s.len) set_query(u, s.ptr[0] == '?' ? from(s, 1) : s);
    return;
  case HASH:
    u->has_fragment = s.len > 0;
    u->fragment.len = 0;
    if (s.len) set_fragment(u, s.ptr[0] == '#' ? from(s, 1) : s);
    return;
  }
}

/* host.urlWith(href, part, text) => parts: the URL with a part set, or unchanged where the part does not fit. */
static JSValue host_url_with(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  buffer href = {0}, text = {0};
  url u = {0};
  int32_t part = 0;
  JSValue answer = JS_EXCEPTION;
  JS_ToInt32(ctx, &part, argv[1]);
  if (text_put(&href, argv[0]) == 0 && clean(&text, argv[2], false) == 0 && parse(&u, (slice){href.ptr, href.len}, NULL)) {
    if (part == PROTOCOL) text.len = before((slice){text.ptr, text.len}, ":");
    set_part(&u, part, (slice){text.ptr ? text.ptr : "", text.len});
    answer = parts(&u);
  }
  release(&u);
  buffer_free(&href);
  buffer_free(&text);
  return answer;
}

/* --- application/x-www-form-urlencoded --- */

static JSValue form_text(slice s) {
  buffer plain = {0}, decoded = {0}, text = {0};
  for (size_t i = 0; i < s.len; i++) buffer_put(&plain, s.ptr[i] == '+' ? " " : s.ptr + i, 1);
  decode(&decoded, (slice){plain.ptr, plain.len});
  text_clean(&text, (const uint8_t *)decoded.ptr, decoded.len);
  JSValue v = string(&text);
  buffer_free(&plain);
  buffer_free(&decoded);
  buffer_free(&text);
  return v;
}

/* host.formRead(text) => [name, value, name, value, …] */
static JSValue host_form_read(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  buffer b = {0};
  if (text_put(&b, argv[0]) < 0) return JS_EXCEPTION;
  JSValue list = JS_NewArray(ctx);
  uint32_t n = 0;
  for (slice rest = {b.ptr, b.len}; rest.len;) {
    size_t len = before(rest, "&");
    slice pair = upto(rest, len);
    size_t equals = before(pair, "=");
    if (len) {
      JS_DefinePropertyValueUint32(ctx, list, n++, form_text(upto(pair, equals)), JS_PROP_C_W_E);
      JS_DefinePropertyValueUint32(ctx, list, n++, form_text(equals < len ? from(pair, equals + 1) : (slice){"", 0}), JS_PROP_C_W_E);
    }
    rest = len < rest.len ? from(rest, len + 1) : (slice){"", 0};
  }
  buffer_free(&b);
  return list;
}

/* host.formWrite([name, value, …]) => text */
static JSValue host_form_write(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
  buffer out = {0}, text = {0};
  int64_t len = 0;
  JS_GetLength(ctx, argv[0], &len);
  for (int64_t i = 0; i < len; i++) {
    JSValue v = JS_GetPropertyInt64(ctx, argv[0], i);
    text.len = 0;
    text_put(&text, v);
    JS_FreeValue(ctx, v);
    if (i) buffer_puts(&out, i % 2 ? "=" : "&");
    for (size_t k = 0; k < text.len; k++) {
      char ch = text.ptr[k];
      if (ch == ' ')
        buffer_puts(&out, "+");
      else if (alpha(ch) || digit(ch) || (ch && strchr("*-._", ch)))
        buffer_put(&out, &ch, 1);
      else
        encode(&out, (slice){&ch, 1}, USERINFO "$%&',!()+~");
    }
  }
  JSValue v = string(&out);
  buffer_free(&out);
  buffer_free(&text);
  return v;
}

void url_init(JSValueConst host) {
  host_define(host, "url", JS_NewCFunction(ctx, host_url, "url", 2));
  host_define(host, "urlWith", JS_NewCFunction(ctx, host_url_with, "urlWith", 3));
  host_define(host, "formRead", JS_NewCFunction(ctx, host_form_read, "formRead", 1));
  host_define(host, "formWrite", JS_NewCFunction(ctx, host_form_write, "formWrite", 1));
}
