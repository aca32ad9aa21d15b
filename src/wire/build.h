/* Building messages of protocol version 3, each appended to a lk_buf. A failed allocation shows in buf->failed; what
 * was built so far is then not to be sent. Strings are NUL-terminated UTF-8 or whatever the client's encoding is. */
#ifndef LK_WIRE_BUILD_H
#define LK_WIRE_BUILD_H

#include "base/buf.h"
#include "base/error.h"

/* A frame of any type: begin writes the head, end puts in the length. Returns the offset that end needs. A frame longer
 * than the protocol allows sets buf->failed. */
size_t lk_build_begin(struct lk_buf *b, uint8_t type);
void lk_build_end(struct lk_buf *b, size_t at);

/* --- what a server sends --- */
/* severity: "ERROR", "FATAL", "WARNING", …; a NoticeResponse with notice = true. */
void lk_build_error(struct lk_buf *b, const char *severity, const struct lk_error *e, bool notice);
void lk_build_ready(struct lk_buf *b, uint8_t status);
void lk_build_authentication(struct lk_buf *b, uint32_t code, struct lk_span data);
void lk_build_parameter_status(struct lk_buf *b, const char *name, const char *value);
void lk_build_backend_key(struct lk_buf *b, uint32_t pid, struct lk_span secret);
void lk_build_command_complete(struct lk_buf *b, const char *tag);
/* An empty message of this type: '1' ParseComplete, '2' BindComplete, '3' CloseComplete, 'n' NoData, 'I' EmptyQuery, …
 */
void lk_build_empty(struct lk_buf *b, uint8_t type);

struct lk_build_column {
    const char *name;
    uint32_t type; /* OID: 25 text, 23 int4, 20 int8, 1700 numeric, 16 bool */
};
void lk_build_row_description(struct lk_buf *b, const struct lk_build_column *columns, size_t count);
/* Text format; a NULL string is NULL. */
void lk_build_data_row(struct lk_buf *b, const char *const *values, size_t count);
/* NegotiateProtocolVersion: newest minor version spoken and the options that are not known. */
void lk_build_negotiate(struct lk_buf *b, uint32_t version, const struct lk_span *unknown, uint32_t count);

/* --- what a client sends --- */
void lk_build_query(struct lk_buf *b, struct lk_span text);
/* `types` holds type_count OIDs in network order. */
void lk_build_parse(struct lk_buf *b, const char *name, struct lk_span text, uint16_t type_count, struct lk_span types);
/* Text parameters, text results, unnamed portal. A parameter with p NULL is NULL. */
void lk_build_bind(struct lk_buf *b, const char *statement, const struct lk_span *params, uint16_t count);
void lk_build_execute(struct lk_buf *b, const char *portal, uint32_t max_rows);
/* 'C' Close or 'D' Describe; kind 'S' or 'P'. */
void lk_build_target(struct lk_buf *b, uint8_t type, uint8_t kind, const char *name);
void lk_build_sync(struct lk_buf *b);
void lk_build_terminate(struct lk_buf *b);
void lk_build_copy_fail(struct lk_buf *b, const char *why);
/* A call without arguments, result in text. */
void lk_build_fcall(struct lk_buf *b, uint32_t oid);
/* Pairs name, value, …, ended by NULL. */
void lk_build_startup(struct lk_buf *b, uint32_t version, const char *const *pairs);
void lk_build_ssl_request(struct lk_buf *b);
void lk_build_cancel(struct lk_buf *b, uint32_t pid, struct lk_span secret);
/* PasswordMessage / SASLResponse ('p'); data is sent as it is: the NUL that ends a password is the caller's. */
void lk_build_password(struct lk_buf *b, struct lk_span data);
void lk_build_sasl_initial(struct lk_buf *b, const char *mechanism, struct lk_span data);

#endif
