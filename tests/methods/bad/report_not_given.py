import fedhive as fh
agree = fh.report("agree")
@fh.weight
def weight(k):
    return k.agree
