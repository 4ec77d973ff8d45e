// A C++ user of an installed liboutcore: the public headers are valid C++ with C linkage.
#include <outcore/outcore.h>
#include <outcore/spill.h>

#include <cstdio>
#include <cstring>

int main()
{
    if (std::strcmp(oc_status_name(OC_OK), "OC_OK") != 0) {
        return 1;
    }
    oc_spill_options options = OC_SPILL_OPTIONS_INIT;
    oc_spill_manager *manager = nullptr;
    if (oc_spill_manager_create(&options, &manager, nullptr) != OC_OK) {
        return 1;
    }
    oc_spill_manager_destroy(manager);
    std::printf("outcore %s\n", oc_version());
    return 0;
}
