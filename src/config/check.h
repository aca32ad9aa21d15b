/* What can only be judged when all of the settings are known. */
#ifndef LK_CONFIG_CHECK_H
#define LK_CONFIG_CHECK_H

#include "config/settings.h"

struct lk_check_finding {
    bool error;           /* else a warning */
    const char *option;   /* whose line is to blame; NULL: see database */
    const char *database; /* the entry whose line is to blame; or NULL */
    const char *what;
};

typedef void (*lk_check_handler)(void *arg, const struct lk_check_finding *finding);

void lk_check_settings(const struct lk_settings *s, lk_check_handler handler, void *arg);

#endif
