#include "net/http.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <stdlib.h>

#include "admin/metrics.h"
#include "base/log.h"
#include "net/master.h"

/* A request that waits for the workers. evhttp parts it from its connection if the client goes away, and frees it when
 * it is answered. */
struct visit {
    struct lk_master *master;
    struct evhttp_request *request;
};

static void
reply(struct evhttp_request *request, int code, const char *reason, const char *type, struct lk_span text)
{
    struct evbuffer *body = evbuffer_new();
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    if (body && evbuffer_add(body, text.p, text.n) == 0) {
        (void)evhttp_add_header(headers, "Content-Type", type);
        (void)evhttp_add_header(headers, "Cache-Control", "no-store");
        evhttp_send_reply(request, code, reason, body);
    } else {
        evhttp_send_reply(request, HTTP_SERVUNAVAIL, "Service Unavailable", NULL);
    }
    if (body)
        evbuffer_free(body);
}

static void
reply_line(struct evhttp_request *request, int code, const char *line)
{
    reply(request, code, code == HTTP_OK ? "OK" : "Service Unavailable", "text/plain; charset=utf-8",
        lk_span_str(line));
}

static void
ask(struct lk_master *m, struct evhttp_request *request, enum lk_request_kind kind, lk_answered_fn *answered)
{
    struct visit *v = LK_NEW(struct visit);
    *v = (struct visit){m, request};
    if (lk_asks_put(&m->asks, kind, answered, v))
        return;
    reply_line(request, HTTP_SERVUNAVAIL, "too many requests\n");
    free(v);
}

/* --- /metrics --- */

static void
write_metrics(struct lk_buf *out, struct lk_master *m, const struct lk_request *r)
{
    const struct lk_metrics_process process = {
        .max_client_conn = m->settings->max_client_conn,
        .paused = lk_request_paused(r),
        .records_dropped = lk_journal_dropped(m->journal),
    };
    const struct lk_metrics **parts = lk_mem_new(r->workers * sizeof *parts);
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->workers; i++)
        if (r->parts[i].metrics)
            parts[count++] = r->parts[i].metrics;
    if (count == r->workers)
        lk_metrics_write(out, parts, count, &process);
    free(parts);
}

static void
metrics_answered(void *context, const struct lk_request *r)
{
    struct visit *v = context;
    struct lk_buf text = {0};
    if (r)
        write_metrics(&text, v->master, r);
    if (text.len > 0 && !text.failed)
        reply(v->request, HTTP_OK, "OK", "text/plain; version=0.0.4; charset=utf-8", lk_buf_span(&text));
    else
        reply_line(v->request, HTTP_SERVUNAVAIL, "not all workers answer\n");
    lk_buf_clear(&text);
    free(v);
}

static void
on_metrics(struct evhttp_request *request, void *arg)
{
    ask(arg, request, LK_REQUEST_METRICS, metrics_answered);
}

/* --- /healthz --- */

static void
health_answered(void *context, const struct lk_request *r)
{
    struct visit *v = context;
    if (v->master->stopping)
        reply_line(v->request, HTTP_SERVUNAVAIL, "shutting down\n");
    else if (!r || !lk_request_whole(r))
        reply_line(v->request, HTTP_SERVUNAVAIL, "not all workers answer\n");
    else if (lk_request_paused(r))
        reply_line(v->request, HTTP_SERVUNAVAIL, "paused\n");
    else
        reply_line(v->request, HTTP_OK, "ok\n");
    free(v);
}

static void
on_healthz(struct evhttp_request *request, void *arg)
{
    struct lk_master *m = arg;
    if (m->stopping)
        reply_line(request, HTTP_SERVUNAVAIL, "shutting down\n");
    else
        ask(m, request, LK_REQUEST_STATE, health_answered);
}

/* --- the listener --- */

bool
lk_http_open(struct lk_master *m)
{
    const char *address = m->settings->metrics_listen_addr;
    int port = m->settings->metrics_listen_port;
    if (port == 0 || !address || !address[0])
        return true;
    if (strcmp(address, "*") == 0)
        address = "0.0.0.0";
    m->http = evhttp_new(m->base);
    if (!m->http || !evhttp_bind_socket_with_handle(m->http, address, (ev_uint16_t)port)) {
        lk_log(LK_LOG_FATAL, "could not listen for metrics on %s:%d: %s", address, port, strerrordesc_np(errno));
        return false;
    }
    evhttp_set_allowed_methods(m->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_max_headers_size(m->http, LK_HTTP_HEADERS_MAX);
    evhttp_set_max_body_size(m->http, LK_HTTP_BODY_MAX);
    evhttp_set_timeout(m->http, LK_HTTP_TIMEOUT_S);
    (void)evhttp_set_cb(m->http, "/metrics", on_metrics, m);
    (void)evhttp_set_cb(m->http, "/healthz", on_healthz, m);
    lk_log(LK_LOG_INFO, "metrics on http://%s:%d/metrics", address, port);
    return true;
}

void
lk_http_close(struct lk_master *m)
{
    if (m->http)
        evhttp_free(m->http);
    m->http = NULL;
}
