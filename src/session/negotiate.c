#include "session/negotiate.h"

#include "session/step.h"
#include "wire/build.h"

bool
lk_negotiate_begin(struct lk_core *core, struct lk_end *end, bool unix_socket)
{
    if (unix_socket || core->settings->server_tls_sslmode == LK_SSLMODE_DISABLE)
        return false;
    struct lk_buf out = {0};
    lk_build_ssl_request(&out);
    /* unsent for lack of memory it has no answer, and time ends the wait: nothing is said in the clear instead */
    (void)lk_step_send_buf(core, end, &out);
    lk_buf_clear(&out);
    return true;
}

enum lk_negotiation
lk_negotiate_answer(struct lk_core *core, struct lk_end *end, const char *host, struct lk_span in, const char **why)
{
    /* nobody speaks out of turn here but one who wants his words taken for what the server says later */
    if (in.n > 1 && in.p[0] != 'E') {
        *why = "data behind the answer to SSLRequest";
        return LK_NEGOTIATION_FAILED;
    }
    switch (in.p[0]) {
    case 'S':
        lk_effects_tls(&core->effects, end, host);
        return LK_NEGOTIATION_TLS;
    case 'N':
        if (core->settings->server_tls_sslmode < LK_SSLMODE_REQUIRE)
            return LK_NEGOTIATION_PLAIN;
        *why = "the server offers no TLS, and server_tls_sslmode requires it";
        return LK_NEGOTIATION_FAILED;
    case 'E':
        /* unencrypted and unauthenticated: its text is not repeated */
        *why = "the server answered SSLRequest with an error";
        return LK_NEGOTIATION_FAILED;
    default:
        *why = "the server answered SSLRequest with something unknown";
        return LK_NEGOTIATION_FAILED;
    }
}
