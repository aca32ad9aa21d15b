/* PostgreSQL's md5 passwords (documentation, "Password Authentication" and AuthenticationMD5Password in "Message
 * Flow"). A secret is "md5" and 32 hex digits of md5(password, user); the answer to a salt is "md5" and those of
 * md5(digits, salt). False from the makers: this OpenSSL doesn't offer MD5 (FIPS). */
#ifndef LK_AUTH_MD5_H
#define LK_AUTH_MD5_H

#include "base/span.h"

#define LK_MD5_SALT_BYTES 4
/* With the NUL. */
#define LK_MD5_SECRET_SIZE 36

bool lk_md5_is_secret(const char *secret);
bool lk_md5_secret(const char *user, const char *password, char out[LK_MD5_SECRET_SIZE]);
/* `secret` is one that lk_md5_is_secret accepts. */
bool lk_md5_answer(const char *secret, const uint8_t salt[LK_MD5_SALT_BYTES], char out[LK_MD5_SECRET_SIZE]);

#endif
