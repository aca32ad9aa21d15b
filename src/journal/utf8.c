#include "journal/utf8.h"

static const uint8_t replacement[] = {0xef, 0xbf, 0xbd};

/* The length of the character at the head, 0 if there is none. No overlong forms, no surrogates, none beyond U+10FFFF.
 */
static size_t
character(struct lk_span s)
{
    uint8_t lead = s.p[0];
    uint8_t low = 0x80, high = 0xbf;
    size_t n;
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf)
        n = 2;
    else if (lead >= 0xe0 && lead <= 0xef)
        n = 3;
    else if (lead >= 0xf0 && lead <= 0xf4)
        n = 4;
    else
        return 0;
    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    if (s.n < n || s.p[1] < low || s.p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((s.p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void
lk_utf8_repair(struct lk_span in, size_t max, struct lk_buf *out)
{
    size_t room = max;
    while (in.n > 0) {
        size_t n = character(in);
        struct lk_span piece = n > 0 ? lk_span_head(in, n) : lk_span_make(replacement, sizeof(replacement));
        if (piece.n > room || !lk_buf_add_span(out, piece))
            return;
        room -= piece.n;
        in = lk_span_skip(in, n > 0 ? n : 1);
    }
}

void
lk_utf8_escape(struct lk_span in, size_t max, bool quoted, struct lk_buf *out)
{
    struct lk_buf valid = {0};
    lk_utf8_repair(in, max, &valid);
    for (size_t i = 0; i < valid.len; i++) {
        uint8_t c = valid.data[i];
        if (c == 0xc2 && i + 1 < valid.len && valid.data[i + 1] < 0xa0)
            lk_buf_add_format(out, "\\u%04x", (unsigned)valid.data[++i]);
        else if (c == '\n' || c == '\t' || c == '\r')
            lk_buf_add_format(out, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
        else if (c < ' ' || c == 0x7f)
            lk_buf_add_format(out, "\\u%04x", (unsigned)c);
        else if (c == '\\' || (quoted && c == '"'))
            lk_buf_add_format(out, "\\%c", c);
        else
            lk_buf_add_u8(out, c);
    }
    out->failed |= valid.failed;
    lk_buf_clear(&valid);
}
