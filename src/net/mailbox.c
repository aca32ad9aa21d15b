#include "net/mailbox.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

bool
lk_mailbox_init(struct lk_mailbox *m)
{
    *m = (struct lk_mailbox){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (m->fd < 0)
        return false;
    pthread_mutex_init(&m->mutex, NULL);
    m->ring = lk_mem_new(LK_MAILBOX_MAX * sizeof(*m->ring));
    return true;
}

void
lk_mailbox_clear(struct lk_mailbox *m)
{
    if (!m->ring)
        return;
    close(m->fd);
    free(m->ring);
    pthread_mutex_destroy(&m->mutex);
    *m = (struct lk_mailbox){.fd = -1};
}

bool
lk_mailbox_put(struct lk_mailbox *m, const struct lk_message *message)
{
    size_t most = message->kind == LK_MESSAGE_CLIENT ? LK_MAILBOX_MAX / 4 * 3 : LK_MAILBOX_MAX;
    pthread_mutex_lock(&m->mutex);
    bool room = m->count < most;
    if (room)
        m->ring[(m->first + m->count++) % LK_MAILBOX_MAX] = *message;
    pthread_mutex_unlock(&m->mutex);
    if (!room)
        return false;
    uint64_t one = 1;
    while (write(m->fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    return true;
}

void
lk_mailbox_heard(struct lk_mailbox *m)
{
    uint64_t n;
    while (read(m->fd, &n, sizeof(n)) > 0) {
    }
}

bool
lk_mailbox_take(struct lk_mailbox *m, struct lk_message *message)
{
    pthread_mutex_lock(&m->mutex);
    bool some = m->count > 0;
    if (some) {
        *message = m->ring[m->first];
        m->first = (m->first + 1) % LK_MAILBOX_MAX;
        m->count--;
    }
    pthread_mutex_unlock(&m->mutex);
    return some;
}
