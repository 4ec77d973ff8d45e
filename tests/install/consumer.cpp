// A C++ user of an installed liboutcore: the public headers are valid C++ with C linkage.
#include <outcore/outcore.h>

#include <cstdio>
#include <cstring>

int main()
{
    if (std::strcmp(oc_status_name(OC_OK), "OC_OK") != 0) {
        return 1;
    }
    std::printf("outcore %s\n", oc_version());
    return 0;
}
