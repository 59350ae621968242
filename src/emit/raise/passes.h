// The passes of raise.cpp. Each reads the module and what earlier ones decided, and adds its own
// decisions; none can fail.
#pragma once

#include "emit/raise/raised.h"

namespace etc {

void GatherCallees(RaisedModule& raised);
void LayOutLaunches(RaisedModule& raised);
void FoldSizes(RaisedModule& raised);
void MapTensors(RaisedModule& raised);
void NumberTasks(RaisedModule& raised);
void WalkRoles(RaisedModule& raised);
void SizeLaunches(RaisedModule& raised);
void PlaceSignals(RaisedModule& raised);
void NumberSpans(RaisedModule& raised);
void ShareBodies(RaisedModule& raised);
void KeepReductions(RaisedModule& raised);
void TraceData(RaisedModule& raised);
void ChooseDivisions(RaisedModule& raised);
void WordChecks(RaisedModule& raised);
void WordWaits(RaisedModule& raised);

}  // namespace etc
