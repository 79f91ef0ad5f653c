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

if(FEDHIVE_WHEEL)
  # RPATH, unlike RUNPATH, holds for what these libraries need, too.
  target_link_options(fedhive PRIVATE -Wl,--disable-new-dtags)
  install(CODE "set(program \"$<TARGET_FILE:fedhive>\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/BringLibraries.cmake\")" ${package})
endif()
