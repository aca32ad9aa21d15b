#include "tool/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <zlib.h>

#include "base/mem.h"

#define READ_BYTES (256u * 1024u)

struct lk_lines {
    gzFile file;
    uint8_t *data; /* LK_LINES_LONGEST + READ_BYTES */
    size_t from, to;
    bool over; /* the head of a line that is too long was dropped */
    bool ended;
    const char *error;
};

struct lk_lines *
lk_lines_open(const char *file)
{
    int fd = strcmp(file, "-") == 0 ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_CLOEXEC);
    gzFile gz = fd >= 0 ? gzdopen(fd, "r") : NULL;
    if (!gz) {
        if (fd >= 0)
            (void)close(fd);
        return NULL;
    }
    (void)gzbuffer(gz, READ_BYTES);
    struct lk_lines *l = LK_NEW(struct lk_lines);
    l->file = gz;
    l->data = lk_mem_new(LK_LINES_LONGEST + READ_BYTES);
    return l;
}

void
lk_lines_close(struct lk_lines *l)
{
    if (!l)
        return;
    (void)gzclose(l->file);
    free(l->data);
    free(l);
}

/* More bytes behind those that are there. */
static void
fill(struct lk_lines *l)
{
    memmove(l->data, l->data + l->from, l->to - l->from);
    l->to -= l->from;
    l->from = 0;
    int n = gzread(l->file, l->data + l->to, READ_BYTES);
    if (n > 0) {
        l->to += (size_t)n;
        return;
    }
    int number;
    const char *text = gzerror(l->file, &number);
    l->ended = true;
    if (number == Z_ERRNO)
        l->error = strerror(errno);
    else if (number == Z_BUF_ERROR)
        l->error = "the compressed data ends too early";
    else if (number != Z_OK)
        l->error = text;
}

bool
lk_lines_next(struct lk_lines *l, struct lk_span *line, bool *too_long)
{
    size_t seen = 0;
    for (;;) {
        struct lk_span rest = lk_span_make(l->data + l->from, l->to - l->from);
        const uint8_t *end = rest.n > seen ? memchr(rest.p + seen, '\n', rest.n - seen) : NULL;
        if (!end && !l->ended) {
            if (rest.n > LK_LINES_LONGEST) {
                l->over = true;
                l->from = l->to;
                rest.n = 0;
            }
            seen = rest.n;
            fill(l);
            continue;
        }
        if (!end && rest.n == 0 && !l->over)
            return false;
        size_t n = end ? (size_t)(end - rest.p) : rest.n;
        l->from += end ? n + 1 : n;
        *too_long = l->over || n > LK_LINES_LONGEST;
        *line = *too_long ? lk_span_make(rest.p, 0) : lk_span_head(rest, n);
        l->over = false;
        return true;
    }
}

const char *
lk_lines_error(struct lk_lines *l)
{
    return l->error;
}
