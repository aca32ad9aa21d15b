#include "session/keyname.h"

#include "lock/known.h"

const char *
lk_keyname_of(const struct lk_settings *s, const char *dbname, struct lk_key key)
{
    char text[LK_KEY_TEXT];
    lk_key_format(key, text);
    const char *name = lk_settings_lock_name(s, text);
    return name ? name : lk_known_name(dbname, key);
}
