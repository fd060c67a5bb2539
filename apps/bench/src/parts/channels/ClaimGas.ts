/**
 * The gas of a claim by the number of its rows: each row is a channel that is claimed for the first time, and one signature of the
 * receiver's authorizer covers all of them. The facilitator plans and sends the transaction; the payout to the receiver is another one.
 */
import { Facilitator, PaymentPayload } from "@pontage/core"
import { ChannelEvent } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { isHash } from "viem"

import * as BenchFolder from "../../BenchFolder.ts"
import * as EmbeddedFacilitator from "../../EmbeddedFacilitator.ts"
import type { Row } from "../../Row.ts"
import * as CryptoLayers from "../CryptoLayers.ts"
import * as ChannelLoad from "./ChannelLoad.ts"

/** The rows of each claim; the contract of the facilitator takes 200 at most. */
const sizes = [1, 10, 50, 100, 200]
const channels = sizes.reduce((sum, size) => sum + size, 0)

/** The sum of each channel's voucher, all of which is claimed. */
const claimed = 500_000n

/** One row for each size. */
export const measure = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  const [fastest] = yield* CryptoLayers.all
  if (fastest === undefined) return yield* Effect.die("no cryptography")
  const { crypto } = fastest
  const load = yield* ChannelLoad.make(chain, channels, crypto)
  const [, sender, authorizer] = chain.accounts.signers
  const folder = yield* BenchFolder.make
  const layer = EmbeddedFacilitator.layer({ rpcUrl: chain.rpcUrl, sender, authorizer, crypto, folder })
  const facilitator = Context.get(yield* Layer.build(layer), Facilitator)
  const rows: Array<Row> = []
  let first = 0
  for (const size of sizes) {
    const gas = yield* gasOf(chain, facilitator, load, { first, size })
    first += size
    const note = `${gas} in all`
    rows.push({ name: `gas a claim row, ${size} in a transaction`, value: gas / size, unit: "gas", note })
  }
  return rows
})

/** Has the facilitator claim channels in one transaction, and returns the gas that it used. */
const gasOf = Effect.fnUntraced(function* (
  { receipt }: EvmTestChain.Shape,
  { settle }: Facilitator["Service"],
  load: ChannelLoad.ChannelLoad,
  { first, size }: { readonly first: number; readonly size: number }
) {
  const { paymentRequirements } = load.request(first, 0)
  const claims = Array.from({ length: size }, (_, index) => {
    const { channelConfig, voucher } = load.payload(first + index, claimed)
    const { maxClaimableAmount, signature } = voucher
    return { voucher: { channel: channelConfig, maxClaimableAmount }, signature, totalClaimed: `${claimed}` }
  })
  const { network, scheme } = paymentRequirements
  const paymentPayload = PaymentPayload.sealPayload(scheme, network, { type: "claim", claims })
  // A busy machine may need longer than one call waits.
  const { transaction } = yield* Effect.retry(settle({ paymentPayload, paymentRequirements }), {
    while: ({ _tag }) => _tag === "SettlementPending"
  })
  if (!isHash(transaction)) return yield* Effect.die(`the claim's transaction is ${transaction}`)
  const { gasUsed, logs } = yield* receipt(transaction)
  const count = logs.filter(({ topics: [topic] }) => topic === ChannelEvent.topics.Claimed).length
  if (count !== size) return yield* Effect.die(`${count} of ${size} rows were claimed`)
  return Number(gasUsed)
})
