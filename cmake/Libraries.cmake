# The system's libraries. All that are missing are named in one message, by Debian's packages.
set(missing_packages "")
# need(PACKAGE arguments…): find_package(arguments…), or notes Debian's PACKAGE.
macro(need package name)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    list(APPEND missing_packages ${package})
  endif()
endmacro()
need(libfmt-dev fmt)
need(libyaml-cpp-dev yaml-cpp)
need(nlohmann-json3-dev nlohmann_json)
need(libcli11-dev CLI11)
need(libboost-dev Boost 1.74)
need(zlib1g-dev ZLIB)
need(libpng-dev PNG)
need(libjpeg-dev JPEG)

# libzip as our own imported target fedhive::zip. Debian's libzip-config.cmake requires libzip's command-line tools, which are
# in packages of their own.
find_path(LIBZIP_INCLUDE_DIR zip.h)
find_library(LIBZIP_LIBRARY zip)
if(NOT LIBZIP_INCLUDE_DIR OR NOT LIBZIP_LIBRARY)
  list(APPEND missing_packages libzip-dev)
endif()

if(missing_packages)
  list(JOIN missing_packages " " missing_packages)
  message(FATAL_ERROR "Libraries of the system are missing. Run scripts/setup, or as root: apt-get install -y ${missing_packages} "
                      "(Debian's names).")
endif()
add_library(fedhive::zip UNKNOWN IMPORTED)
set_target_properties(fedhive::zip PROPERTIES IMPORTED_LOCATION "${LIBZIP_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${LIBZIP_INCLUDE_DIR}")
