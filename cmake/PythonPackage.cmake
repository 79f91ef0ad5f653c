# The folder of the Python package fedhive, as pip installs it: the module, bin/fedhive, lib/ with the libraries that it needs, configs/ and
# scripts/. pyproject.toml asks for it; by hand: cmake --install build/release --component python --prefix FOLDER/fedhive.
set(package COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/scripts/lib/fedhive/" DESTINATION . ${package} FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/configs" DESTINATION . ${package})
install(PROGRAMS "${PROJECT_SOURCE_DIR}/scripts/report" "${PROJECT_SOURCE_DIR}/scripts/data" DESTINATION scripts ${package})
install(FILES "${PROJECT_SOURCE_DIR}/scripts/lib/common.sh" "${PROJECT_SOURCE_DIR}/scripts/lib/datasets.py" DESTINATION scripts/lib ${package})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/scripts/lib/report" DESTINATION scripts/lib ${package} PATTERN __pycache__ EXCLUDE)
install(TARGETS fedhive RUNTIME DESTINATION bin ${package})
if(TARGET fedhive_libtorch)
  install(TARGETS fedhive_libtorch LIBRARY DESTINATION lib ${package})
endif()

# Libraries of this system that another one may lack, with those that they need themselves. RPATH, unlike RUNPATH, holds for these, too.
if(FEDHIVE_WHEEL)
  target_link_options(fedhive PRIVATE -Wl,--disable-new-dtags)
  install(CODE "
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES \"$<TARGET_FILE:fedhive>\" RESOLVED_DEPENDENCIES_VAR found
      PRE_EXCLUDE_REGEXES [[^(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s|z))\\.so]])
    foreach(library IN LISTS found)
      get_filename_component(name \"\${library}\" NAME)
      get_filename_component(file \"\${library}\" REALPATH)
      file(INSTALL \"\${file}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib\" RENAME \"\${name}\" USE_SOURCE_PERMISSIONS)
    endforeach()" ${package})
endif()
