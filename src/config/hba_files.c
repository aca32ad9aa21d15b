/* auth_hba_file and auth_ident_file of a snapshot, and the addresses of this machine that samehost and samenet mean:
 * all read when the settings are. */
#include "config/snapshot.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "config/ini.h"

static const char *
read_file(void *arg, const char *path, struct lk_buf *out)
{
    return lk_ini_read_file(path, out);
}

static bool
network_of(const struct ifaddrs *i, struct lk_hba_network *out)
{
    *out = (struct lk_hba_network){0};
    if (!i->ifa_addr || !i->ifa_netmask)
        return false;
    if (i->ifa_addr->sa_family == AF_INET) {
        out->n = 4;
        memcpy(out->address, &((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr, 4);
        memcpy(out->mask, &((const struct sockaddr_in *)(const void *)i->ifa_netmask)->sin_addr, 4);
    } else if (i->ifa_addr->sa_family == AF_INET6) {
        out->n = 16;
        memcpy(out->address, &((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr, 16);
        memcpy(out->mask, &((const struct sockaddr_in6 *)(const void *)i->ifa_netmask)->sin6_addr, 16);
    }
    return out->n > 0;
}

/* Owner: the caller. */
static struct lk_hba_network *
read_interfaces(size_t *count)
{
    struct ifaddrs *all = NULL;
    struct lk_hba_network *networks = NULL, found;
    *count = 0;
    if (getifaddrs(&all) != 0)
        return NULL;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (!network_of(i, &found))
            continue;
        networks = lk_mem_grow(networks, (*count + 1) * sizeof(*networks));
        networks[(*count)++] = found;
    }
    freeifaddrs(all);
    return networks;
}

/* A file's text; what is wrong is told as a mistake. */
static bool
read_text(const struct lk_hba_source *source, const char *path, struct lk_buf *text)
{
    const char *wrong = lk_ini_read_file(path, text);
    char what[128];
    if (!wrong)
        return true;
    (void)snprintf(what, sizeof(what), "cannot be read: %s", wrong);
    source->mistake(source->arg, path, 0, what);
    return false;
}

void
lk_snapshot_read_hba(
    struct lk_settings *s, void (*mistake)(void *arg, const char *file, int line, const char *what), void *arg)
{
    struct lk_hba_source source = {.read = read_file, .mistake = mistake, .arg = arg};
    struct lk_buf rules = {0}, idents = {0};
    const char *ident_file = s->auth_ident_file && *s->auth_ident_file ? s->auth_ident_file : NULL;
    lk_hba_unref(s->hba);
    s->hba = NULL;
    if (s->auth_type != LK_AUTH_TYPE_HBA || !s->auth_hba_file || !*s->auth_hba_file)
        return;
    struct lk_hba_network *interfaces = read_interfaces(&source.interface_count);
    source.interfaces = interfaces;
    bool good = read_text(&source, s->auth_hba_file, &rules);
    good = (!ident_file || read_text(&source, ident_file, &idents)) && good;
    if (good)
        s->hba = lk_hba_parse(lk_buf_span(&rules), s->auth_hba_file, lk_buf_span(&idents), ident_file, &source);
    free(interfaces);
    lk_buf_clear(&rules);
    lk_buf_clear(&idents);
}
