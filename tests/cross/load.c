/* Loads an instrumentation agent as the runtime does: load FILE. It must give out its class, and
 * refuse a class that is not its own. */
#include <dlfcn.h>
#include <stdio.h>

#include <clarinet/clarinet.h>

typedef HRESULT (*get_class_function)(const GUID *clsid, const GUID *iid, void **out);

int main(int argc, char **argv)
{
    const GUID own = {0x36032161, 0xFFC0, 0x4B61, {0xB5, 0x59, 0xF6, 0xC5, 0xD4, 0x1B, 0xAE, 0x5A}};
    const GUID other = {0x36032161, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}};
    const GUID factory = {1, 0, 0, {0xC0, 0, 0, 0, 0, 0, 0, 0x46}};
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    get_class_function get;
    void *object = NULL;

    if (library == NULL)
        return fprintf(stderr, "load: %s\n", dlerror()), 1;
    get = (get_class_function)dlsym(library, "DllGetClassObject");
    if (get == NULL || get(&own, &factory, &object) != 0 || object == NULL)
        return fprintf(stderr, "load: the class is refused\n"), 1;
    if (get(&other, &factory, &object) == 0)
        return fprintf(stderr, "load: another class is given out\n"), 1;
    return 0;
}
