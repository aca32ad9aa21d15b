/* What ran on a server since it was lent or last probed, and what that means: which statements are suspects, whether a
 * probe is due, what its answer says of them (docs/architecture.md, "Trust by evidence"). */
#ifndef LK_SESSION_EVIDENCE_H
#define LK_SESSION_EVIDENCE_H

#include "session/core.h"

/* A client's text ran to its end or failed. */
void lk_evidence_ran(struct lk_core *core, struct lk_server *s, const struct lk_reply *r);
/* A client's Bind is done, or failed while its statement was planned. Planning calls functions that are said to be IMMUTABLE
 * or STABLE, whatever they do: what is bound and then not executed is a suspect too. */
void lk_evidence_bound(struct lk_core *core, struct lk_server *s, const struct lk_reply *r);
/* A further text is about to run: the first one was not alone. */
void lk_evidence_company(struct lk_core *core, struct lk_server *s);
/* The server will be given up with texts of the client's unanswered: what touches among them did is not known. */
void lk_evidence_unanswered(struct lk_core *core, struct lk_server *s);
/* At rest outside a transaction: judges what is left to judge. */
void lk_evidence_rest(struct lk_core *core, struct lk_server *s);
/* A probe answered: for locks that no plan explains (`found`), and for locks that are gone though no plan says so
 * (`vanished`), the suspects are blamed; without any they gain trust. */
void lk_evidence_probed(struct lk_core *core, struct lk_server *s, uint32_t found, uint32_t vanished);
/* Forgets the run, when a server is lent or settled. */
void lk_evidence_reset(struct lk_server *s);
/* Is the statement trusted in the server's pool? text (may be NULL) is looked up in the catalogue while it is not. */
enum lk_trusted lk_evidence_trusted(
    struct lk_core *core, const struct lk_server *s, uint64_t fingerprint, const struct lk_text *text, bool alone);
/* A DDL tag: the trust of that database's statements is void. `a`: the text's analysis, may be NULL. */
void lk_evidence_ddl(struct lk_core *core, struct lk_server *s, struct lk_span tag, const struct lk_analysis *a);
/* Would a lock that the probe now under way shows be one that no plan explains? */
bool lk_evidence_hidden(const struct lk_server *s);
/* The text to name for a lock that a probe found: the only suspect's, or the last touch's; may be NULL. */
struct lk_text *lk_evidence_culprit(const struct lk_server *s);

#endif
