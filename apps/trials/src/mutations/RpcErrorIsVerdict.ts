/**
 * A chain that cannot be asked is taken for an answer about the payment: whatever goes wrong in a verification is told as an
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
