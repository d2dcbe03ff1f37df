/* Programs include this for the marker macros alone, too. Licence: as tmaprobe/region.h. */
#include "likwid-marker.h"
