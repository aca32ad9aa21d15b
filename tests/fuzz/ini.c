/* The bytes as an ini file: a whole snapshot or named mistakes; a snapshot can be copied, told and changed. */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "config/option.h"

static void
set_each(const struct lk_settings *s, struct lk_span value)
{
    static const char *const names[] = {
        "pool_mode", "listen_port", "server_lifetime", "admin_users", "max_packet_size"};
    char *text = lk_mem_dup_span(value);
    for (size_t i = 0; i < LK_COUNT(names); i++) {
        struct lk_buf why = {0};
        struct lk_settings *copy = lk_settings_copy(s);
        MUST(lk_settings_set(copy, names[i], text, &why) || why.len > 0);
        lk_settings_unref(copy);
        lk_buf_clear(&why);
    }
    free(text);
}

static void
use(const struct lk_settings *s, struct lk_span in)
{
    struct lk_buf out = {0};
    struct lk_settings *copy = lk_settings_copy(s);
    bool null;
    for (size_t i = 0; i < lk_option_count; i++) {
        MUST(lk_option_same(&lk_options[i], s, copy));
        lk_option_print(&lk_options[i], copy, &out, &null);
    }
    lk_buf_clear(&out);
    lk_settings_restart_needed(s, copy, &out);
    MUST(out.len == 0);
    lk_settings_unref(copy);
    for (size_t i = 0; i < s->database_count; i++)
        (void)lk_settings_database(s, s->databases[i].name);
    (void)lk_settings_user(s, "app");
    (void)lk_settings_lock_name(s, "1001,7");
    (void)lk_settings_ignores_parameter(s, lk_span_str("extra_float_digits"));
    set_each(s, fuzz_until(&in, '\n'));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct lk_buf errors = {0}, warnings = {0};
    struct lk_span in = lk_span_make(data, size);
    /* %include and the settings that name files must not find a device that never ends */
    if (memmem(data, size, "/dev", 4) || memmem(data, size, "/proc", 5) || memmem(data, size, "/sys", 4))
        return 0;
    int fd = memfd_create("fuzz.ini", 0);
    MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct lk_settings *s = lk_settings_load(path, &errors, &warnings);
    MUST(s ? errors.len == 0 : errors.len > 0);
    if (s)
        use(s, in);
    lk_settings_unref(s);
    lk_buf_clear(&errors);
    lk_buf_clear(&warnings);
    (void)close(fd);
    return 0;
}
