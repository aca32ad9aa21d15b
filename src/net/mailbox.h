/* A mailbox: what crosses from one thread to another, that is new clients, settings, commands and console requests. A
 * bounded queue behind a mutex, and an eventfd that becomes readable when there is mail. Never on a query's way. */
#ifndef LK_NET_MAILBOX_H
#define LK_NET_MAILBOX_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct lk_request;
struct lk_settings;
struct lk_tls;

/* How many messages wait at most; new clients may take three quarters of it, so that commands always find room. */
#define LK_MAILBOX_MAX 1024u

/* An internet address with its port. */
union lk_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

enum lk_message_kind {
    /* to a worker */
    LK_MESSAGE_CLIENT,   /* a connection just accepted */
    LK_MESSAGE_SETTINGS, /* new settings, with a reference */
    LK_MESSAGE_COMMAND,
    LK_MESSAGE_REQUEST, /* a console command that every worker carries out (admin/request.h) */
    LK_MESSAGE_ANSWER,  /* the same, carried out: for the worker of the client that asked, or the main thread */
    LK_MESSAGE_NEWS,    /* for a console client of that worker: what a request waits for */
    /* to the main thread */
    LK_MESSAGE_RELOAD, /* asked for on the console: request */
    LK_MESSAGE_STOP,   /* SHUTDOWN on the console: command */
    LK_MESSAGE_ENDED,  /* a worker's thread is about to return */
};

enum lk_command {
    LK_COMMAND_PAUSE,
    LK_COMMAND_RESUME,
    LK_COMMAND_WAIT_FOR_SERVERS,
    LK_COMMAND_WAIT_FOR_CLIENTS,
    LK_COMMAND_END, /* at once */
};

struct lk_message {
    enum lk_message_kind kind;
    union {
        struct {
            int fd;
            bool unix_socket;
            union lk_address address; /* of the peer; TCP only */
        } client;
        struct lk_settings *settings;
        enum lk_command command;
        struct lk_request *request;
        struct {
            uint64_t client_id;
            char *lines; /* the message's, by free() */
        } news;
    } u;
    struct lk_tls *tls; /* SETTINGS: what belongs to them, with a reference; NULL: as before */
};

struct lk_mailbox {
    pthread_mutex_t mutex;
    int fd;                  /* the eventfd, for the reader's loop */
    struct lk_message *ring; /* owned */
    size_t first, count;
};

/* False (errno): no descriptor for it. */
bool lk_mailbox_init(struct lk_mailbox *m);
/* Messages still inside are the owner's: take them first. */
void lk_mailbox_clear(struct lk_mailbox *m);
/* From any thread. False: it is full, and the message remains the caller's. */
bool lk_mailbox_put(struct lk_mailbox *m, const struct lk_message *message);
/* The reader, when fd is readable: stops it from being so. To be called before taking. */
void lk_mailbox_heard(struct lk_mailbox *m);
/* The oldest message; false: none. */
bool lk_mailbox_take(struct lk_mailbox *m, struct lk_message *message);

#endif
