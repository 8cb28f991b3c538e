// What the process answers with (docs/architecture.md, "Three kinds of failure").
#pragma once

namespace headway::app {

enum ExitCode { kOk = 0, kUserError = 2, kEnvironmentError = 3, kInternalError = 70 };

}  // namespace headway::app
