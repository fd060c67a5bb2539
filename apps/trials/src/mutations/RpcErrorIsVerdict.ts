/**
 * An unavailable chain is taken for a verdict on the payment: every error of a verification is reported as an
 * invalid signature.
 */
import { refuse, type SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"

export const rpcErrorIsVerdict = {
  scheme: (scheme: SchemeFacilitator): SchemeFacilitator => ({
    ...scheme,
    verify: (payment) => Effect.catchTag(scheme.verify(payment), "ChainUnavailable", () => Effect.fail(invalid))
  })
}

const invalid = refuse("INVALID_SIGNATURE", "unverified", "the signature could not be verified")
