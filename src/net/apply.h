/* Carries out what the core's steps want: sends, opens, closes, records. The second and the last but one step of a
 * query's walk. Steps that effects lead to (a send that failed, kept input to be handed in again) are never made from
 * within: they wait in the worker's todo list until the effects at hand are carried out and settled. */
#ifndef LK_NET_APPLY_H
#define LK_NET_APPLY_H

#include "net/worker.h"

/* After a step of the core: its effects, then lk_core_settle. */
void lk_apply_effects(struct lk_worker *w);
/* Makes the steps of the todo list until there are none, each with its effects. */
void lk_apply_todo(struct lk_worker *w);
/* The end of a callback: the todo list, then the dead are freed. */
void lk_apply_finish(struct lk_worker *w);

#endif
