# FedDecorr: Shi et al. 2022 (arXiv:2210.00226), equation 6: cross-entropy + beta / d^2 * |K|_F^2, K the correlations of the features in a batch.
# Differs: z is what the last layer gets; variances are by n, and at least 1e-8.
# For: losses.
import fedhive as fh

beta = fh.key("beta", 0.1, least=0, doc="weight of the decorrelation (β)")


@fh.loss
def loss(out, y):
    apart = out.z - fh.batch_mean(out.z)
    standard = apart / fh.sqrt(fh.batch_mean(apart * apart) + 1e-8)
    # The mean over r and s of (<x_r, x_s> / d)^2 is |1/n X^T X|_F^2 / d^2.
    return fh.cross_entropy(out.logits, y) + beta * fh.batch_mean(fh.batch_square(standard))
