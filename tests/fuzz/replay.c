/* The main() of a fuzz target that is not run by libFuzzer: hands the files named on the command line, or else all of
 * tests/fuzz/corpus/<the program's name>, to the target once each. Prints what cmocka prints for one test; a target
 * that finds something dies there, and the last file named is the one. */
#include "fuzz.h"

#include <glob.h>

#include "base/mem.h"
#include "config/ini.h"

static void
play(const char *path)
{
    struct lk_buf in = {0};
    const char *why = lk_ini_read_file(path, &in);
    (void)printf("%s%s%s\n", path, why ? ": " : "", why ? why : "");
    (void)fflush(stdout);
    if (why)
        exit(1);
    /* a copy without room behind it, so that the sanitizers see every byte read beyond */
    uint8_t *exact = lk_mem_try(in.len ? in.len : 1);
    MUST(exact);
    if (in.len > 0)
        memcpy(exact, in.data, in.len);
    (void)LLVMFuzzerTestOneInput(exact, in.len);
    free(exact);
    lk_buf_clear(&in);
}

int
main(int argc, char **argv)
{
    char pattern[256];
    glob_t all = {0};
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    (void)snprintf(pattern, sizeof(pattern), "tests/fuzz/corpus/%s/*", name);
    for (int i = 1; i < argc; i++)
        play(argv[i]);
    if (argc == 1 && glob(pattern, 0, NULL, &all) == 0)
        for (size_t i = 0; i < all.gl_pathc; i++)
            play(all.gl_pathv[i]);
    bool any = argc > 1 || all.gl_pathc > 0;
    globfree(&all);
    (void)printf(any ? "[       OK ] the corpus of %s\n" : "%s: no corpus\n", name);
    return any ? 0 : 1;
}
