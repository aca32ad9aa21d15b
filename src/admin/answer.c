#include "admin/answer.h"

static void
send(struct lk_core *core, struct lk_client *client, struct lk_buf *out)
{
    if (out->failed) {
        struct lk_error e;
        lk_error_set(&e, "53200", "out of memory");
        lk_buf_clear(out);
        *out = (struct lk_buf){0};
        lk_build_error(out, "ERROR", &e, false);
    }
    lk_core_console_reply(core, client, lk_buf_span(out));
    lk_buf_clear(out);
    lk_core_console_done(core, client);
}

void
lk_answer_tag(struct lk_core *core, struct lk_client *client, const char *tag)
{
    struct lk_buf out = {0};
    lk_build_command_complete(&out, tag);
    send(core, client, &out);
}

void
lk_answer_empty(struct lk_core *core, struct lk_client *client)
{
    struct lk_buf out = {0};
    lk_build_empty(&out, 'I');
    send(core, client, &out);
}

void
lk_answer_error(struct lk_core *core, struct lk_client *client, const struct lk_error *e)
{
    struct lk_buf out = {0};
    lk_build_error(&out, "ERROR", e, false);
    send(core, client, &out);
}

void
lk_answer_view(struct lk_core *core, struct lk_client *client, const struct lk_view *view,
    const struct lk_table *const *tables, size_t count)
{
    struct lk_table answer;
    struct lk_buf out = {0};
    lk_view_answer(view, &answer, tables, count);
    lk_table_build(&answer, &out);
    lk_build_command_complete(&out, "SHOW");
    lk_table_clear(&answer);
    send(core, client, &out);
}

/* A notice for each line. */
static void
add_notices(struct lk_buf *out, const char *severity, const char *sqlstate, const char *lines)
{
    while (lines && *lines) {
        size_t n = strcspn(lines, "\n");
        struct lk_error e;
        lk_error_set(&e, sqlstate, "%.*s", (int)n, lines);
        if (n > 0)
            lk_build_error(out, severity, &e, true);
        lines += n + (lines[n] == '\n');
    }
}

void
lk_answer_reload(struct lk_core *core, struct lk_client *client, const char *errors, const char *warnings)
{
    struct lk_buf out = {0};
    add_notices(&out, "WARNING", "01000", warnings);
    add_notices(&out, "WARNING", "F0000", errors);
    if (errors) {
        struct lk_error e;
        lk_error_set(&e, "F0000", "RELOAD failed, the old settings stay in force");
        lk_build_error(&out, "ERROR", &e, false);
    } else {
        lk_build_command_complete(&out, "RELOAD");
    }
    send(core, client, &out);
}

void
lk_answer_set(struct lk_core *core, struct lk_client *client, const struct lk_request *r)
{
    struct lk_buf out = {0}, tag = {0};
    add_notices(&out, "WARNING", "01000", r->warnings);
    if (r->error) {
        struct lk_error e;
        lk_error_set(&e, "22023", "%.*s", (int)strcspn(r->error, "\n"), r->error);
        lk_build_error(&out, "ERROR", &e, false);
    } else {
        lk_buf_add_format(&tag, "SET %s=%s", r->setting, r->value);
        lk_buf_add_u8(&tag, 0);
        out.failed |= tag.failed;
        lk_build_command_complete(&out, tag.failed ? "SET" : (const char *)tag.data);
    }
    lk_buf_clear(&tag);
    send(core, client, &out);
}

void
lk_answer_news(struct lk_core *core, struct lk_client *client, const char *lines)
{
    struct lk_buf out = {0};
    add_notices(&out, "NOTICE", "00000", lines);
    if (!out.failed)
        lk_core_console_news(core, client, lk_buf_span(&out));
    lk_buf_clear(&out);
}

static void
add_field(struct lk_buf *b, char code, const char *value)
{
    lk_buf_add_u8(b, (uint8_t)code);
    lk_buf_add_cstr(b, value);
}

void
lk_answer_help(struct lk_core *core, struct lk_client *client)
{
    struct lk_buf out = {0};
    size_t at = lk_build_begin(&out, 'N');
    add_field(&out, 'S', "NOTICE");
    add_field(&out, 'V', "NOTICE");
    add_field(&out, 'C', "00000");
    add_field(&out, 'M', "Console usage");
    lk_buf_add_u8(&out, 'D');
    lk_buf_add_format(&out, "\n\tSHOW HELP|");
    lk_view_names(&out);
    lk_buf_add_format(&out,
        "\n\tSET key = arg\n\tRELOAD\n\tPAUSE [<db>]\n\tRESUME [<db>]\n\tSUSPEND\n\tDISABLE <db>\n\tENABLE <db>"
        "\n\tRECONNECT [<db>]\n\tWAIT_CLOSE [<db>]\n\tKILL [<db>]\n\tKILL_CLIENT <client_id>"
        "\n\tSHUTDOWN [WAIT_FOR_SERVERS|WAIT_FOR_CLIENTS]");
    lk_buf_add_u8(&out, 0);
    lk_buf_add_u8(&out, 0);
    lk_build_end(&out, at);
    lk_build_command_complete(&out, "SHOW");
    send(core, client, &out);
}
