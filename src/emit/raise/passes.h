// The passes of raise.cpp. Each reads the module and what earlier ones decided, and adds its own
// decisions; none can fail.
#pragma once

#include "emit/raise/raised.h"

namespace etc {

void GatherCallees(RaisedModule& raised);
void NumberTasks(RaisedModule& raised);
void ChooseDivisions(RaisedModule& raised);

}  // namespace etc
