# libzip as our own imported target fedhive::zip. Debian's libzip-config.cmake requires libzip's command-line tools, which are
# in packages of their own.
find_path(LIBZIP_INCLUDE_DIR zip.h)
find_library(LIBZIP_LIBRARY zip)
if(NOT LIBZIP_INCLUDE_DIR OR NOT LIBZIP_LIBRARY)
  message(FATAL_ERROR "libzip was not found. Run scripts/setup, or install it (Debian: libzip-dev).")
endif()
add_library(fedhive::zip UNKNOWN IMPORTED)
set_target_properties(fedhive::zip PROPERTIES IMPORTED_LOCATION "${LIBZIP_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${LIBZIP_INCLUDE_DIR}")
