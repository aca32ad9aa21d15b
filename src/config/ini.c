#include "config/ini.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct reader {
    lk_ini_handler handler;
    void *arg;
    int files;
};

/* Where a line is. */
struct place {
    struct reader *reader;
    const char *file;
    int line, depth;
};

static void read_file(struct reader *r, const char *path, const struct place *from);

/* Reads to the end. Room for the whole is made first, so that growing leaves no copy of secrets behind. */
static const char *
read_all(int fd, struct lk_buf *out)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return strerror(errno);
    if (!S_ISREG(st.st_mode))
        return "not a regular file";
    if (st.st_size > (off_t)LK_INI_BYTES_MOST)
        return "too large";
    if (!lk_buf_reserve(out, (size_t)st.st_size + 2))
        return strerror(ENOMEM);
    for (;;) {
        ssize_t n = read(fd, out->data + out->len, out->cap - out->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return strerror(errno);
        if (n == 0)
            return NULL;
        out->len += (size_t)n;
        if (out->len > LK_INI_BYTES_MOST)
            return "too large";
        if (!lk_buf_reserve(out, 2))
            return strerror(ENOMEM);
    }
}

const char *
lk_ini_read_file(const char *path, struct lk_buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return strerror(errno);
    const char *wrong = read_all(fd, out);
    close(fd);
    return wrong;
}

static void
emit(const struct place *at, enum lk_ini_kind kind, char *name, char *value)
{
    struct lk_ini_line line = {.file = at->file, .line = at->line, .kind = kind, .name = name, .value = value};
    at->reader->handler(at->reader->arg, &line);
}

static void broken(const struct place *at, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
broken(const struct place *at, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    emit(at, LK_INI_BROKEN, NULL, what);
}

/* Drops white space at both ends, in place. */
static char *
trim(char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    char *end = p + strlen(p);
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return p;
}

static bool
is_comment(const char *p)
{
    return *p == ';' || *p == '#';
}

static void
read_section(const struct place *at, char *p)
{
    char *end = strchr(p, ']');
    if (!end) {
        broken(at, "the ] of a section is missing");
        return;
    }
    char *rest = trim(end + 1);
    *end = '\0';
    if (*rest && !is_comment(rest))
        broken(at, "nothing may stand behind a section's ]");
    emit(at, LK_INI_SECTION, trim(p), NULL);
}

/* Takes the double quotes off a name, in place. What follows the closing one, or NULL: there is none. */
static char *
unquote_name(char *p)
{
    char *to = p;
    for (p++; *p; p++) {
        if (*p == '"' && *++p != '"') {
            *to = '\0';
            return p;
        }
        *to++ = *p;
    }
    return NULL;
}

static void
read_setting(const struct place *at, char *p)
{
    char *name = p;
    bool quoted = *p == '"';
    if (quoted) {
        p = unquote_name(p);
        while (p && isspace((unsigned char)*p))
            p++;
        if (p && *p != '=')
            p = NULL;
    } else {
        p = strchr(p, '=');
    }
    if (!p) {
        broken(at, quoted ? "must be \"NAME\" = VALUE" : "neither a [section] nor NAME = VALUE");
        return;
    }
    *p++ = '\0';
    if (!quoted)
        name = trim(name);
    if (*name == '\0')
        broken(at, "a name is missing before the =");
    else
        emit(at, LK_INI_SETTING, name, trim(p));
}

static void
read_line(struct place *at, char *p, size_t length)
{
    if (memchr(p, '\0', length)) {
        broken(at, "holds a NUL byte");
        return;
    }
    p = trim(p);
    if (*p == '\0' || is_comment(p))
        return;
    if (strncmp(p, "%include", 8) == 0 && isblank((unsigned char)p[8]))
        read_file(at->reader, trim(p + 8), at);
    else if (*p == '[')
        read_section(at, p + 1);
    else
        read_setting(at, p);
}

static void
read_text(struct reader *r, const char *path, int depth, struct lk_buf *text)
{
    struct place at = {.reader = r, .file = path, .depth = depth};
    char *p = (char *)text->data;
    char *end = p + text->len - 1;
    if (text->len > 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < end) {
        char *newline = memchr(p, '\n', (size_t)(end - p));
        char *stop = newline ? newline : end;
        *stop = '\0';
        at.line++;
        read_line(&at, p, (size_t)(stop - p));
        p = stop + 1;
    }
}

/* `from` is the %include, or NULL for the first file. */
static void
read_file(struct reader *r, const char *path, const struct place *from)
{
    struct place top = {.reader = r, .file = path};
    const struct place *blamed = from ? from : &top;
    if (from && from->depth >= LK_INI_DEPTH_MOST) {
        broken(blamed, "%%include \"%.200s\": too many files deep", path);
        return;
    }
    if (r->files++ >= LK_INI_FILES_MOST) {
        if (r->files == LK_INI_FILES_MOST + 1)
            broken(blamed, "%%include \"%.200s\": too many files", path);
        return;
    }
    struct lk_buf text = {0};
    const char *wrong = lk_ini_read_file(path, &text);
    if (!wrong && lk_buf_add_u8(&text, 0))
        read_text(r, path, from ? from->depth + 1 : 0, &text);
    else if (from)
        broken(from, "%%include \"%.200s\": cannot be read: %s", path, wrong ? wrong : strerror(ENOMEM));
    else
        broken(&top, "cannot be read: %s", wrong ? wrong : strerror(ENOMEM));
    lk_buf_clear(&text);
}

void
lk_ini_read(const char *path, lk_ini_handler handler, void *arg)
{
    struct reader r = {.handler = handler, .arg = arg};
    read_file(&r, path, NULL);
}
