#include "net/reload.h"

#include <errno.h>

#include "base/log.h"
#include "config/option.h"
#include "net/notify.h"
#include "net/tls.h"

void
lk_reload_log(int level, const struct lk_buf *lines)
{
    struct lk_span rest = lk_buf_span(lines);
    while (rest.n > 0) {
        const uint8_t *end = memchr(rest.p, '\n', rest.n);
        size_t n = end ? (size_t)(end - rest.p) : rest.n;
        lk_log((enum lk_log_level)level, "%.*s", (int)n, (const char *)rest.p);
        rest = lk_span_skip(rest, end ? n + 1 : n);
    }
}

bool
lk_reload_open_log(const struct lk_settings *s, const struct lk_start *start, bool to_stderr)
{
    const struct lk_log_options options = {
        .file = s->logfile,
        .to_stderr = to_stderr,
        .to_syslog = s->syslog,
        .syslog_ident = s->syslog_ident,
        .syslog_facility = s->syslog_facility,
        .verbose = s->verbose + start->verbose,
    };
    return lk_log_open(&options);
}

struct lk_journal_options
lk_reload_journal(const struct lk_settings *s)
{
    struct lk_journal_options options = {.target = s->leak_log ? s->leak_log : ""};
    options.text = s->leak_log_format && strcmp(s->leak_log_format, "text") == 0;
    bool all = !s->leak_log_events || lk_settings_list_has(s->leak_log_events, "all");
    for (unsigned e = 0; e < LK_EVENT_COUNT; e++)
        if (all || lk_settings_list_has(s->leak_log_events, lk_event_name((enum lk_event)e)))
            options.events |= 1u << e;
    return options;
}

static void
take_over(struct lk_master *m, struct lk_settings *s, struct lk_tls *tls)
{
    struct lk_buf names = {0};
    lk_settings_restart_needed(m->settings, s, &names);
    if (names.len > 0) {
        lk_log(LK_LOG_WARNING, "these settings take effect at the next start:");
        lk_reload_log(LK_LOG_WARNING, &names);
    }
    lk_buf_clear(&names);
    if (!lk_reload_open_log(s, m->start, !m->start->quiet && !m->start->daemon))
        lk_log(LK_LOG_ERROR, "could not open logfile %s: %s", s->logfile, strerrordesc_np(errno));
    const struct lk_journal_options options = lk_reload_journal(s);
    if (!lk_journal_set(m->journal, &options))
        lk_log(LK_LOG_ERROR, "could not open leak_log %s: %s", options.target, strerrordesc_np(errno));
    lk_acceptor_tune(&m->acceptor, s);
    for (uint32_t i = 0; i < m->worker_count; i++) {
        const struct lk_message mail = {
            .kind = LK_MESSAGE_SETTINGS, .u.settings = lk_settings_ref(s), .tls = lk_tls_ref(tls)};
        if (!lk_mailbox_put(&m->workers[i]->mailbox, &mail)) {
            lk_log(LK_LOG_ERROR, "worker %u did not get the new settings: its mailbox is full", i);
            lk_settings_unref(s);
            lk_tls_unref(tls);
        }
    }
    lk_settings_unref(m->settings);
    m->settings = s;
    lk_tls_unref(m->tls);
    m->tls = tls;
}

static char *
text_of(const struct lk_buf *b)
{
    return b->len > 0 ? lk_mem_dup_span(lk_buf_span(b)) : NULL;
}

void
lk_reload(struct lk_master *m, struct lk_request *r)
{
    struct lk_buf errors = {0}, warnings = {0};
    lk_notify_reloading();
    struct lk_settings *s = lk_settings_load(m->start->ini, &errors, &warnings);
    struct lk_tls *tls = s ? lk_tls_new(s, &errors) : NULL;
    lk_reload_log(LK_LOG_ERROR, &errors);
    lk_reload_log(LK_LOG_WARNING, &warnings);
    if (tls)
        take_over(m, s, tls);
    else
        lk_log(LK_LOG_ERROR, "reload failed; the old settings stay");
    /* Log rotation asks for this too, whatever became of the settings. */
    lk_log_reopen();
    lk_journal_reopen(m->journal);
    if (tls)
        lk_log(LK_LOG_INFO, "settings reloaded");
    else
        lk_settings_unref(s);
    if (r) {
        r->error = tls ? NULL : text_of(&errors);
        r->warnings = text_of(&warnings);
    }
    lk_buf_clear(&errors);
    lk_buf_clear(&warnings);
    lk_notify_ready();
}

void
lk_reload_set(struct lk_master *m, struct lk_request *r)
{
    struct lk_buf why = {0};
    const struct lk_option *o = lk_option_find(r->setting);
    struct lk_settings *s = lk_settings_copy(m->settings);
    struct lk_tls *tls = lk_settings_set(s, r->setting, r->value, &why) ? lk_tls_new(s, &why) : NULL;
    if (tls) {
        take_over(m, s, tls);
        lk_log(LK_LOG_INFO, "%s is set to %s until the next RELOAD", r->setting, r->value);
    } else {
        lk_settings_unref(s);
        r->error = text_of(&why);
    }
    if (tls && o->flags & LK_OPTION_INERT)
        r->warnings = lk_mem_dup(o->note ? o->note : "this setting has no effect in this version");
    lk_buf_clear(&why);
}
