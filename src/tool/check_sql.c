#include "tool/check_sql.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "sql/lint.h"
#include "sql/rewrite.h"
#include "sql/uses.h"
#include "tool/finding.h"

enum { STATUS_FINE, STATUS_MISTAKE, STATUS_LOOK };

struct check {
    enum lk_policy policy;
    bool json;
    bool in_block; /* in a transaction block */
    unsigned statements, touches, unsure, lints;
    bool look; /* something should be looked at */
    struct lk_uses *uses; /* of the whole script's constant keys */
};

static const struct option long_options[] = {
    {"policy", required_argument, NULL, 'p'},
    {"transaction", no_argument, NULL, 't'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void
print_help(void)
{
    (void)puts("usage: lockkeeper check-sql [OPTION]... <FILE.sql\n"
               "\n"
               "  -p, --policy=POLICY  pin (default), release, rewrite, reject or observe\n"
               "  -t, --transaction    take what is read to run inside a transaction block\n"
               "  -j, --json           one JSON object for each statement that is told of\n"
               "  -h, --help           print this\n"
               "\n"
               "Exit status: 0 nothing to look at; 1 wrong usage; 2 something to look at.");
}

static bool
read_policy(const char *name, enum lk_policy *out)
{
    for (enum lk_policy p = LK_POLICY_PIN; p <= LK_POLICY_OBSERVE; p++)
        if (strcmp(name, lk_policy_name(p)) == 0) {
            *out = p;
            return true;
        }
    (void)fprintf(stderr, "lockkeeper check-sql: there is no policy %s\n", name);
    return false;
}

static bool
read_all(FILE *in, struct lk_buf *out)
{
    size_t n;
    do {
        if (!lk_buf_reserve(out, BUFSIZ)) {
            errno = ENOMEM;
            return false;
        }
        n = fread(out->data + out->len, 1, out->cap - out->len, in);
        out->len += n;
    } while (n > 0);
    return !ferror(in);
}

static void
shorten(struct lk_finding *f)
{
    f->shorten = lk_mem_new(f->plan->call_count * sizeof(bool));
    for (uint16_t i = 0; i < f->plan->call_count; i++)
        f->shorten[i] = f->plan->calls[i].fn->op != LK_CALL_UNLOCK_ALL;
    lk_rewrite_text(f->statement.text, f->analysis->plan, f->shorten, &f->rewritten);
}

static void
judge(const struct check *c, struct lk_finding *f)
{
    const struct lk_analysis *a = f->analysis;
    const struct lk_plan *plan = a->plan;
    f->policy = c->policy;
    f->plan = plan && plan->count > 0 ? &plan->statements[0] : NULL;
    f->touch = plan && (!f->plan || lk_plan_touches(f->plan));
    f->lints = a->lints;
    if (c->in_block)
        f->lints &= ~(unsigned)LK_LINT_XACT_ALONE;
    for (uint16_t i = 0; i < a->taking_count; i++)
        f->lints |= lk_uses_note(c->uses, a->takings[i].key, a->takings[i].fn->xact);
    if (!f->touch)
        return;
    f->effect = lk_judge(f->plan, c->policy, c->in_block);
    if (f->effect == LK_EFFECT_REWRITE)
        shorten(f);
}

static void
count(struct check *c, const struct lk_finding *f)
{
    bool exact = f->touch && f->plan && f->plan->exact;
    c->statements++;
    c->touches += f->touch;
    c->unsure += f->touch && !exact;
    c->lints += (unsigned)__builtin_popcount(f->lints);
    c->look = c->look || f->lints != 0 || (f->touch && (!exact || !lk_effect_keeps(f->effect)));
}

static bool
check_statement(struct check *c, const struct lk_script_statement *s)
{
    static const struct lk_hash_key key;
    struct lk_analysis *a = lk_analysis_make(s->text, (struct lk_sql_mode){true, true}, &key);
    if (!a) {
        (void)fputs("lockkeeper check-sql: out of memory\n", stderr);
        return false;
    }
    struct lk_finding f = {.statement = *s, .analysis = a};
    judge(c, &f);
    count(c, &f);
    if (f.touch || f.lints || a->creates) {
        if (c->json)
            lk_finding_print_json(&f, stdout);
        else
            lk_finding_print(&f, stdout);
    }
    c->in_block = lk_split_block_after(s->text, c->in_block);
    free(f.shorten);
    lk_buf_clear(&f.rewritten);
    lk_analysis_unref(a);
    return true;
}

static bool
check_statements(struct check *c, struct lk_span script)
{
    struct lk_split split = lk_split_start(script);
    struct lk_script_statement s;
    bool fine = true;
    c->uses = lk_uses_new(UINT_MAX);
    while (fine && lk_split_next(&split, &s))
        fine = check_statement(c, &s);
    lk_uses_unref(c->uses);
    return fine;
}

static int
check_script(struct check *c, struct lk_span script)
{
    if (!check_statements(c, script))
        return STATUS_MISTAKE;
    if (!c->json)
        (void)printf("statements %u, touching session locks %u, of them unsure %u, lints %u\n", c->statements,
            c->touches, c->unsure, c->lints);
    return c->look ? STATUS_LOOK : STATUS_FINE;
}

int
lk_check_sql_run(int argc, char **argv)
{
    struct check c = {.policy = LK_POLICY_PIN};
    int option;
    while ((option = getopt_long(argc, argv, "p:tjh", long_options, NULL)) != -1) {
        if (option == 'h') {
            print_help();
            return STATUS_FINE;
        }
        if (option == '?' || (option == 'p' && !read_policy(optarg, &c.policy)))
            return STATUS_MISTAKE;
        c.json = c.json || option == 'j';
        c.in_block = c.in_block || option == 't';
    }
    if (optind < argc) {
        (void)fputs("lockkeeper check-sql: reads standard input, no files\n", stderr);
        return STATUS_MISTAKE;
    }
    struct lk_buf script = {0};
    int status = STATUS_MISTAKE;
    if (read_all(stdin, &script))
        status = check_script(&c, lk_buf_span(&script));
    else
        perror("lockkeeper check-sql");
    lk_buf_clear(&script);
    return status;
}
