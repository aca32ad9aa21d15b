/* The messages of protocol version 3 that Lockkeeper looks into. Each parser takes a frame's whole body and gives spans
 * of it; false: the body is malformed (08P01 for who sent it). PostgreSQL documentation, "Message Formats". */
#ifndef LK_WIRE_MESSAGE_H
#define LK_WIRE_MESSAGE_H

#include "base/error.h"
#include "base/span.h"

/* The longest secret of a cancel key (protocol 3.2); the shortest is 4, the only one of 3.0. */
#define LK_CANCEL_SECRET_MAX 256u

/* Startup packet codes (the first int32 of its body). */
#define LK_PROTOCOL_3_0 0x00030000u
#define LK_CODE_CANCEL 80877102u
#define LK_CODE_SSL 80877103u
#define LK_CODE_GSSENC 80877104u

struct lk_msg_startup {
    uint32_t code;         /* protocol version or one of LK_CODE_… */
    struct lk_span params; /* name NUL value NUL … ; without the closing NUL. Walk with lk_msg_startup_param */
    uint32_t cancel_pid;
    struct lk_span cancel_secret; /* 4 bytes in 3.0, up to 256 in 3.2 */
};
/* Parameters are looked at for major version 3 only; for another one just the code is set. */
bool lk_msg_startup(struct lk_span body, struct lk_msg_startup *out);
/* Takes the first pair from *params; false at the end. */
bool lk_msg_startup_param(struct lk_span *params, struct lk_span *name, struct lk_span *value);

struct lk_msg_parse {
    struct lk_span name;
    struct lk_span text;
    uint16_t type_count;
    struct lk_span types; /* type_count OIDs, network order */
};
bool lk_msg_parse(struct lk_span body, struct lk_msg_parse *out);

struct lk_msg_bind {
    struct lk_span portal;
    struct lk_span name;
    struct lk_span rest; /* from the parameter format count on */
};
/* Needs only the head of the body: false also when portal and name are not wholly there yet. */
bool lk_msg_bind(struct lk_span body, struct lk_msg_bind *out);

struct lk_msg_value {
    bool null;
    bool binary;
    struct lk_span data;
};
/* Parameter number `index` (from 0) of a Bind's rest; false when it has none such or is malformed up to there. */
bool lk_msg_bind_value(struct lk_span rest, unsigned index, struct lk_msg_value *out);
/* Format code (0 text, 1 binary) of result column `index` that a Bind's rest asks for; false when malformed. */
bool lk_msg_bind_result_format(struct lk_span rest, unsigned index, uint16_t *format);

/* Describe and Close: 'S' or 'P' and a name. */
struct lk_msg_target {
    uint8_t kind;
    struct lk_span name;
};
bool lk_msg_target(struct lk_span body, struct lk_msg_target *out);

struct lk_msg_execute {
    struct lk_span portal;
    uint32_t max_rows; /* 0: all; so do negative counts on the wire, and they come out as 0 */
};
bool lk_msg_execute(struct lk_span body, struct lk_msg_execute *out);

/* FunctionCall: its OID, and argument values through lk_msg_fcall_value. */
struct lk_msg_fcall {
    uint32_t oid;
    uint16_t argument_count;
    struct lk_span rest; /* from the argument format count on */
};
bool lk_msg_fcall(struct lk_span body, struct lk_msg_fcall *out);
bool lk_msg_fcall_value(struct lk_span rest, unsigned index, struct lk_msg_value *out);

/* ErrorResponse and NoticeResponse: the field of that code ('C' SQLSTATE, 'M' message, 'S'/'V' severity, …); an empty
 * span when absent. */
struct lk_span lk_msg_error_field(struct lk_span body, char code);

struct lk_msg_param {
    struct lk_span name;
    struct lk_span value;
};
bool lk_msg_parameter_status(struct lk_span body, struct lk_msg_param *out);

/* RowDescription: type OID of column `index`; false when there is none such. `*count` (may be NULL): columns, set also
 * when false; 0 when malformed at its start. */
bool lk_msg_row_type(struct lk_span body, unsigned index, uint32_t *type, uint16_t *count);
/* DataRow: column `index`; `*count` (may be NULL): columns. value->binary is not known here and false. */
bool lk_msg_row_value(struct lk_span body, unsigned index, struct lk_msg_value *out, uint16_t *count);

/* Authentication…: the code, and what stands behind it. */
bool lk_msg_authentication(struct lk_span body, uint32_t *code, struct lk_span *rest);

bool lk_msg_backend_key(struct lk_span body, uint32_t *pid, struct lk_span *secret);

#endif
