#include "auth/md5.h"

#include <openssl/evp.h>

#define PREFIX "md5"
#define PREFIX_SIZE 3u
#define DIGEST_SIZE 16u

bool
lk_md5_is_secret(const char *secret)
{
    return strlen(secret) == LK_MD5_SECRET_SIZE - 1 && strncmp(secret, PREFIX, PREFIX_SIZE) == 0 &&
           strspn(secret + PREFIX_SIZE, "0123456789abcdef") == LK_MD5_SECRET_SIZE - 1 - PREFIX_SIZE;
}

static bool
digest_of_two(struct lk_span a, struct lk_span b, char out[LK_MD5_SECRET_SIZE])
{
    static const char hex[] = "0123456789abcdef";
    uint8_t digest[DIGEST_SIZE];
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx && EVP_DigestInit_ex(ctx, EVP_md5(), NULL) && EVP_DigestUpdate(ctx, a.p, a.n) &&
              EVP_DigestUpdate(ctx, b.p, b.n) && EVP_DigestFinal_ex(ctx, digest, NULL);
    EVP_MD_CTX_free(ctx);
    if (!ok)
        return false;
    memcpy(out, PREFIX, PREFIX_SIZE);
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        out[PREFIX_SIZE + 2 * i] = hex[digest[i] >> 4];
        out[PREFIX_SIZE + 2 * i + 1] = hex[digest[i] & 15];
    }
    out[LK_MD5_SECRET_SIZE - 1] = '\0';
    return true;
}

bool
lk_md5_secret(const char *user, const char *password, char out[LK_MD5_SECRET_SIZE])
{
    return digest_of_two(lk_span_str(password), lk_span_str(user), out);
}

bool
lk_md5_answer(const char *secret, const uint8_t salt[LK_MD5_SALT_BYTES], char out[LK_MD5_SECRET_SIZE])
{
    return digest_of_two(lk_span_str(secret + PREFIX_SIZE), lk_span_make(salt, LK_MD5_SALT_BYTES), out);
}
