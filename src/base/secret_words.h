/* secret_words: what makes a name sound secret, in lower case. `clarinet trace` shows no values of
 * such names, and no recording has the values of such options and variables. */
#ifndef CLARINET_BASE_SECRET_WORDS_H
#define CLARINET_BASE_SECRET_WORDS_H

#define SECRET_WORDS                                                                               \
    "password", "passwd", "pwd", "secret", "token", "credential", "apikey", "api_key",             \
        "authorization"

#endif
