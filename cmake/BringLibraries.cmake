# Run when the Python package is installed: copies what `program` needs of this system and another one may lack into its lib/, with the licences of
# Debian's packages. A system with Python has the C and C++ libraries and zlib.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES "${program}" RESOLVED_DEPENDENCIES_VAR found
  PRE_EXCLUDE_REGEXES [[^(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|z))\.so]])
foreach(library IN LISTS found)
  get_filename_component(name "${library}" NAME)
  get_filename_component(file "${library}" REALPATH)
  file(INSTALL "${file}" DESTINATION "${CMAKE_INSTALL_PREFIX}/lib" RENAME "${name}" USE_SOURCE_PERMISSIONS)
  get_filename_component(real_name "${file}" NAME)
  execute_process(COMMAND dpkg-query -S "*/${real_name}" OUTPUT_VARIABLE owner ERROR_QUIET)
  string(REGEX MATCH "^[^:, ]+" owner "${owner}")
  if(owner AND EXISTS "/usr/share/doc/${owner}/copyright")
    get_filename_component(licence "/usr/share/doc/${owner}/copyright" REALPATH)
    file(INSTALL "${licence}" DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/licenses" RENAME "${name}.txt")
  endif()
endforeach()
