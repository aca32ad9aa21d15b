/* Plays the scenarios of tests/replay: each twice, with input as it is said and byte by byte. Prints what cmocka prints.
 * usage: play [-v] [FILE.play…]; without files, all of tests/replay/scenarios. */
#include "script.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "config/ini.h"

#define LINES_MAX 4096

struct line {
    int number;
    char *text; /* in the file's text */
};

struct file {
    const char *path;
    char *text; /* owned */
    struct line lines[LINES_MAX];
    size_t count;
};

static bool tracing;

static char *
trim(char *text)
{
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]); n--)
        text[n - 1] = '\0';
    return text;
}

/* Lines without comments (a '#' at their start) and empty ones; one that ends in a backslash goes on in the next. */
static bool
file_read(struct file *f, const char *path)
{
    struct lk_buf in = {0};
    const char *why = lk_ini_read_file(path, &in);
    *f = (struct file){.path = path, .text = lk_mem_dup_span(lk_buf_span(&in))};
    lk_buf_clear(&in);
    if (why) {
        (void)printf("%s: %s\n", path, why);
        return false;
    }
    char *rest = f->text, *text;
    for (int number = 1; (text = strsep(&rest, "\n")) && f->count < LINES_MAX; number++) {
        for (size_t n = strlen(text); rest && n > 0 && text[n - 1] == '\\'; n = strlen(text), number++) {
            text[n - 1] = ' ';
            text[n] = ' ';
            (void)strsep(&rest, "\n");
        }
        text = trim(text);
        if (*text && *text != '#')
            f->lines[f->count++] = (struct line){number, text};
    }
    return true;
}

static bool
is_title(const char *text)
{
    return strncmp(text, "scenario ", 9) == 0;
}

/* Lines from..to; false after having said what is wrong. */
static bool
play_lines(struct script *s, const struct file *f, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        char *copy = lk_mem_dup(f->lines[i].text);
        if (tracing)
            (void)printf("  %s:%d: %s\n", f->path, f->lines[i].number, copy);
        bool good = script_line(s, copy);
        free(copy);
        if (!good) {
            (void)printf("%s:%d: %s%s\n", f->path, f->lines[i].number, s->world->problem,
                s->world->bytewise ? "\n  (byte by byte)" : "");
            return false;
        }
    }
    return true;
}

/* The file's lines before its first scenario, then those of the scenario whose title is line `title`. */
static bool
play_once(const struct file *f, size_t title, bool bytewise)
{
    struct world *w = LK_NEW(struct world);
    struct script s = {.world = w};
    size_t first = 0, end = title + 1;
    while (!is_title(f->lines[first].text))
        first++;
    while (end < f->count && !is_title(f->lines[end].text))
        end++;
    world_init(w, bytewise, tracing);
    bool good = play_lines(&s, f, 0, first) && play_lines(&s, f, title + 1, end);
    if (good && !script_end(&s)) {
        (void)printf("%s:%d: %s%s\n", f->path, f->lines[end - 1].number, w->problem, bytewise ? "\n  (byte by byte)" : "");
        good = false;
    }
    script_clear(&s);
    world_free(w);
    free(w);
    return good;
}

/* In a process of its own, so that a crash is this scenario's only. */
static bool
play(struct file *f, size_t title)
{
    int status = 0;
    const char *name = f->lines[title].text + strlen("scenario ");
    (void)printf("[ RUN      ] %s\n", name);
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        bool good = play_once(f, title, false) && play_once(f, title, true);
        free(f->text);
        free(f);
        exit(good ? 0 : 1);
    }
    bool good = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
    if (!good && WIFSIGNALED(status))
        (void)printf("%s:%d: died of signal %d\n", f->path, f->lines[title].number, WTERMSIG(status));
    (void)printf(good ? "[       OK ] %s\n" : "[  FAILED  ] %s\n", name);
    return good;
}

static void
play_file(const char *path, unsigned *passed, unsigned *failed)
{
    struct file *f = LK_NEW(struct file);
    bool good = file_read(f, path);
    *failed += !good;
    for (size_t i = 0; i < f->count; i++)
        if (is_title(f->lines[i].text))
            ++*(play(f, i) ? passed : failed);
    free(f->text);
    free(f);
}

int
main(int argc, char **argv)
{
    unsigned passed = 0, failed = 0;
    int first = 1;
    const struct lk_log_options log = {0};
    tracing = argc > 1 && strcmp(argv[1], "-v") == 0;
    first += tracing;
    if (!tracing)
        (void)lk_log_open(&log);
    for (int i = first; i < argc; i++)
        play_file(argv[i], &passed, &failed);
    glob_t all = {0};
    if (first == argc && glob("tests/replay/scenarios/*.play", 0, NULL, &all) == 0)
        for (size_t i = 0; i < all.gl_pathc; i++)
            play_file(all.gl_pathv[i], &passed, &failed);
    globfree(&all);
    if (failed > 0)
        (void)printf("[  FAILED  ] %u test(s), listed below:\n", failed);
    (void)printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
