import fedhive as fh
import no_such_module
