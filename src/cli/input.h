/* input: the file that a verb looks at: a recording, a file of events of the runtime (.nettrace) or
 * of its heap (.gcdump), which are read as one. Private to src/cli. */
#ifndef CLARINET_CLI_INPUT_H
#define CLARINET_CLI_INPUT_H

#include "analysis/model.h"

/* As model_load_path. */
int input_load(const char *path, model *m, error *e);

#endif
