// How a long task in a library tells its caller how far it is. The application draws it; tests ignore it.
#pragma once

#include <cstdint>
#include <string_view>

namespace headway {

class Progress {
 public:
  virtual ~Progress() = default;
  // `done` of `total` units of `what`; `detail` is short and changes (a loss, a shape). Cheap: may be called often.
  virtual void update(std::string_view what, std::int64_t done, std::int64_t total, std::string_view detail) = 0;
};

}  // namespace headway
