# One library per folder of src/, one test program per folder that has x_test.cpp files.

add_library(headway_options INTERFACE)
target_include_directories(headway_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
# No silent contraction to FMA: the bits must not depend on what the compiler chooses.
target_compile_options(headway_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wconversion
                       -Wno-sign-conversion -ffp-contract=off)
if(HEADWAY_WERROR)
  target_compile_options(headway_options INTERFACE -Werror)
endif()
if(HEADWAY_SANITIZE)
  target_compile_options(headway_options INTERFACE -fsanitize=${HEADWAY_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all -Wno-maybe-uninitialized)  # GCC warns falsely there
  target_link_options(headway_options INTERFACE -fsanitize=${HEADWAY_SANITIZE})
endif()

# headway_library(NAME [COLD] [DEPS folder...] [LINK library...]): src/NAME/**.cpp as a static library. COLD says that
# no step waits for its code: it compiles with -O1, a third faster.
function(headway_library name)
  cmake_parse_arguments(ARG "COLD" "" "DEPS;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(NOT sources)
    add_library(headway_${name} INTERFACE)
    set(scope INTERFACE)
  else()
    add_library(headway_${name} STATIC ${sources})
    set(scope PUBLIC)
    if(ARG_COLD)
      target_compile_options(headway_${name} PRIVATE -O1)
    endif()
  endif()
  target_link_libraries(headway_${name} ${scope} headway_options ${ARG_LINK})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(headway_${name} ${scope} headway_${dep})
  endforeach()
  if(tests)
    add_executable(test_${name} ${tests})
    target_link_libraries(test_${name} PRIVATE headway_${name} GTest::gtest GTest::gtest_main)
    target_compile_options(test_${name} PRIVATE -O1)
    add_test(NAME unit.${name} COMMAND test_${name})
    set_tests_properties(unit.${name} PROPERTIES TIMEOUT 600)
  endif()
endfunction()
