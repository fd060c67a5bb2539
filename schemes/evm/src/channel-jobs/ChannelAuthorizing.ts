/**
 * The receiver's authority over a channel: a signature that came with the request, or one by the facilitator's own key. The facilitator's
 * key signs only for callers that it is lent to, and only for channels that name it.
 */
import { type ChannelRequest, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as ClaimBatch from "../voucher/ClaimBatch.ts"
import * as EvmSigner from "../wallet/EvmSigner.ts"
import type { ChannelChain } from "./ChannelChain.ts"
import * as ChannelChecks from "./ChannelChecks.ts"
import * as ChannelRefusal from "./ChannelRefusal.ts"
import type { IdentifiedRow } from "./IdentifiedRows.ts"

/** The party that asks: a caller, or the facilitator's own watch over its ledger. */
type Asking = Pick<ChannelRequest, "caller" | "isOwn">

/** Terms that the authorizer of a channel signs. */
export interface ToAuthorize {
  readonly asked: Asking
  readonly authorizer: EvmAddress.Address
  readonly digest: Uint8Array
  readonly data: EvmSigner.TypedData
}

const refuse = (name: ChannelRefusal.Name, message: string) => Effect.fail(ChannelRefusal.make(name, message))

/** The signature: the one that came, if the authorizer has made it, or one by our key. */
export const signed = Effect.fnUntraced(function* (
  chain: ChannelChain,
  { asked: { caller, isOwn = false }, authorizer, data, digest }: ToAuthorize,
  given: EvmHex.Hex | undefined
): Effect.fn.Return<EvmHex.Hex, ChannelRefusal.ChannelRefusal | Misconfigured> {
  if (given !== undefined) {
    if (ChannelChecks.isSignedBy(chain, digest, given, authorizer)) return given
    const message = `the signature is not by the key of the channel's receiverAuthorizer ${EvmAddress.checksum(authorizer)}`
    return yield* refuse("authorizer_address_mismatch", message)
  }
  const ours = chain.authorizer
  if (ours === undefined || !(isOwn || ours.signsFor(caller))) {
    const message =
      "no authorizer's signature came, and the facilitator signs for no caller, or for none without a key and a registered payee"
    return yield* refuse("authorizer_not_configured", message)
  }
  if (authorizer !== ours.address) {
    const message = `the channel's receiverAuthorizer is ${EvmAddress.checksum(authorizer)}, the facilitator signs as ${EvmAddress.checksum(ours.address)}`
    return yield* refuse("authorizer_address_mismatch", message)
  }
  return yield* Effect.mapError(
    EvmSigner.signatureOf(ours.signer, data),
    ({ message }) => new Misconfigured({ message: `channelEvm.facilitator: authorizer: ${message}` })
  )
})

/** The authority over the rows of a claim. `isOurs`: any part of them can be signed, not only all of them. */
export interface Authority {
  readonly isOurs: boolean
  readonly sign: (
    rows: ReadonlyArray<IdentifiedRow>
  ) => Effect.Effect<EvmHex.Hex, ChannelRefusal.ChannelRefusal | Misconfigured>
}

/** The authority over rows, which all name one authorizer. A signature that came is checked at once. */
export const ofClaims = Effect.fnUntraced(function* (
  chain: ChannelChain,
  asked: Asking,
  rows: ReadonlyArray<IdentifiedRow>,
  given: EvmHex.Hex | undefined
): Effect.fn.Return<Authority, ChannelRefusal.ChannelRefusal | Misconfigured> {
  const authorizer = rows[0]?.row.voucher.channel.receiverAuthorizer ?? EvmAddress.zero
  if (rows.some(({ row }) => row.voucher.channel.receiverAuthorizer !== authorizer)) {
    return yield* refuse(
      "authorizer_address_mismatch",
      "the channels of a claim have one receiverAuthorizer, these have several"
    )
  }
  const sign: Authority["sign"] = (part) => {
    const entries = part.map(({ entry }) => entry)
    const digest = ClaimBatch.digest(chain.chainId, entries, chain.callContext.crypto.keccak256)
    return signed(chain, { asked, authorizer, digest, data: ClaimBatch.typedData(chain.chainId, entries) }, given)
  }
  yield* sign(rows)
  return { isOurs: given === undefined, sign }
})
