/* TLS: contexts made from the settings, and connections encrypted with them. The only module that calls libssl.
 *
 * A struct lk_tls is what one reading of the settings gave: certificates, keys and trust as the files held them then.
 * It never changes, is shared by all workers, and lives until its last reference and last connection have gone: a
 * RELOAD makes a new one, and connections that stand keep theirs.
 *
 * A struct lk_secure sits between a connection and its non-blocking socket. It holds at most one TLS record (16 KB) of
 * either direction while that is incomplete, and no buffer while the connection is idle. Reasons that it gives live as
 * long as it does. The process ignores SIGPIPE. Sources: RFC 8446, RFC 5246; PostgreSQL documentation, "SSL Session
 * Encryption". */
#ifndef LK_NET_TLS_H
#define LK_NET_TLS_H

#include <sys/uio.h>

#include "base/buf.h"
#include "config/settings.h"

struct lk_tls;
struct lk_secure;

/* NULL: `errors` says what is wrong with the files or words, a line each, "FILE.ini: what\n". */
struct lk_tls *lk_tls_new(const struct lk_settings *s, struct lk_buf *errors);
struct lk_tls *lk_tls_ref(struct lk_tls *t);
void lk_tls_unref(struct lk_tls *t);

/* The side that accepts, and the side that connects. `host` is named to the server unless it is an address, and under
 * verify-full the certificate must be its. NULL: no memory, or these settings have no TLS on that side. */
struct lk_secure *lk_tls_accept(const struct lk_tls *t, int fd);
struct lk_secure *lk_tls_connect(const struct lk_tls *t, int fd, const char *host);
void lk_tls_free(struct lk_secure *x);

enum lk_tls_result {
    LK_TLS_DONE,
    LK_TLS_WANT_READ,
    LK_TLS_WANT_WRITE,
    LK_TLS_END, /* the peer has ended, or the connection is broken: *why */
};

/* Goes on with the handshake. */
enum lk_tls_result lk_tls_handshake(struct lk_secure *x, const char **why);
/* Is the handshake still under way? */
bool lk_tls_shaking(const struct lk_secure *x);
/* Reads until `room` is full or nothing more is there. DONE: *got > 0. */
enum lk_tls_result lk_tls_read(struct lk_secure *x, uint8_t *at, size_t room, size_t *got, const char **why);
/* May there be input that the socket no longer shows? To be read without waiting. */
bool lk_tls_pending(const struct lk_secure *x);
/* Writes as much as the socket takes. What is left over after WANT_WRITE must come again at the start of the next
 * write, as one part, from whatever place. */
enum lk_tls_result lk_tls_write(
    struct lk_secure *x, const struct iovec *parts, size_t count, size_t *taken, const char **why);
/* Tells the peer that no more comes; never waits. */
void lk_tls_bye(struct lk_secure *x);

/* After the handshake: "TLSv1.3/TLS_AES_256_GCM_SHA384". */
const char *lk_tls_name(const struct lk_secure *x);
/* The common name of the peer's certificate, if that was asked for and verified; else NULL. */
const char *lk_tls_peer_cn(const struct lk_secure *x);
/* After the handshake: the hash of the certificate that the accepting side showed (RFC 5929 section 4,
 * tls-server-end-point), the same on both sides if nobody is in between. Empty: its signature has no digest of its own
 * (Ed25519), and the RFC knows no hash then. */
struct lk_span lk_tls_binding(const struct lk_secure *x);

#endif
