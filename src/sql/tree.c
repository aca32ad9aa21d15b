#include "sql/tree.h"

static const ProtobufCMessage *
pointer_at(const uint8_t *where)
{
    const ProtobufCMessage *m;
    memcpy(&m, where, sizeof(m));
    return m;
}

void
lk_tree_walk(const ProtobufCMessage *m, unsigned in, lk_tree_visit *visit, void *context)
{
    if (!visit(m, &in, context))
        return;
    const uint8_t *base = (const uint8_t *)m;
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *d = &m->descriptor->fields[i];
        if (d->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        if (d->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t n;
            memcpy(&n, base + d->quantifier_offset, sizeof(n));
            const uint8_t *items = (const uint8_t *)pointer_at(base + d->offset);
            for (size_t j = 0; j < n; j++)
                lk_tree_walk(pointer_at(items + j * sizeof(void *)), in, visit, context);
            continue;
        }
        if (d->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
            uint32_t which;
            memcpy(&which, base + d->quantifier_offset, sizeof(which));
            if (which != d->id)
                continue;
        }
        const ProtobufCMessage *child = pointer_at(base + d->offset);
        if (child)
            lk_tree_walk(child, in, visit, context);
    }
}

const char *
lk_tree_string(const PgQuery__Node *n)
{
    return n && n->node_case == PG_QUERY__NODE__NODE_STRING ? n->string->sval : "";
}

const char *
lk_tree_function_name(const PgQuery__FuncCall *call, bool *catalog)
{
    size_t n = call->n_funcname;
    *catalog = n == 1 || (n == 2 && strcmp(lk_tree_string(call->funcname[0]), "pg_catalog") == 0);
    return n == 0 ? "" : lk_tree_string(call->funcname[n - 1]);
}

const struct lk_function *
lk_tree_function(const PgQuery__FuncCall *call, bool *catalog)
{
    return lk_function_by_name(lk_span_str(lk_tree_function_name(call, catalog)));
}
