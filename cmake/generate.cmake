# Writes what `QKV --generate KIND` prints into OUTPUT.
get_filename_component(directory ${OUTPUT} DIRECTORY)
file(MAKE_DIRECTORY ${directory})
execute_process(COMMAND ${QKV} --generate ${KIND} OUTPUT_FILE ${OUTPUT} COMMAND_ERROR_IS_FATAL ANY)
