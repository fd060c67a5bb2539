/**
 * Draws on channels whose claims the facilitator's own key authorizes: the voucher of one request, read without the chain; the channels'
 * states; the words of receipts and corrections; and the requests that claim.
 */
import type {
  ChannelAccount,
  ChannelParties,
  ClaimRequests,
  PaymentRequirements,
  Payout,
  SchemeDraws
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelConfig from "../voucher/ChannelConfig.ts"
import * as Voucher from "../voucher/Voucher.ts"
import type { Authorizer, ChannelChain } from "./ChannelChain.ts"
import * as ChannelChecks from "./ChannelChecks.ts"
import { factsOf } from "./ChannelInspection.ts"
import * as ChannelJob from "./ChannelJob.ts"
import * as ChannelReads from "./ChannelReads.ts"
import * as ChannelRefusal from "./ChannelRefusal.ts"

/** A claim of twenty rows, with its signature. */
const claimGas = 500_000n

/** The most rows of one claim. */
const rowsTogether = 100

const decodeConfig = Schema.decodeUnknownResult(ChannelConfig.ChannelConfig)
const decodeVoucher = Schema.decodeUnknownResult(Voucher.Voucher)

/** Terms that the ledger holds were checked before they were entered. */
const configOf = (json: Schema.Json): ChannelConfig.ChannelConfig => Result.getOrThrow(decodeConfig(json))

/** Makes the draws; `undefined` where no key of the facilitator authorizes claims. */
export const make = (chain: ChannelChain): SchemeDraws | undefined => {
  const { authorizer } = chain
  if (authorizer === undefined) return undefined
  return {
    read: (request) => read(chain, authorizer, request),
    isFor: authorizer.signsFor,
    states: (ids) => states(chain, ids),
    parties: partiesByTerms(),
    receipt: (account, amount) => ({ channelState: stateOf(account), chargedAmount: `${amount}` }),
    correction: (account) => ({ channelState: stateOf(account), ...voucherOf(account) }),
    claims: (rows) => claimsOf(chain, rows),
    refund: (order) => refundOf(chain, order),
    payouts: (receivers) => Effect.forEach(receivers, (one) => payoutOf(chain, one), { concurrency: 8 }),
    claimGas
  }
}

const read = Effect.fnUntraced(function* (
  chain: ChannelChain,
  authorizer: Authorizer,
  request: Parameters<SchemeDraws["read"]>[0]
) {
  const { assets, chainId, network } = chain
  const payment = yield* ChannelJob.read(network, chainId, assets.find, request.requirements, request.payload)
  const { job, message, token } = payment.payload
  if (message.type === "claim" || message.type === "settle" || message.voucher === undefined) return yield* noDraw
  if (!authorizer.signsFor(request.caller)) return yield* otherCaller
  const { channelConfig: config, voucher } = message
  yield* ChannelChecks.config(config, request.requirements)
  if (config.receiverAuthorizer !== authorizer.address) return yield* otherAuthorizer(config, authorizer)
  yield* ChannelChecks.voucher(chain, config, voucher)
  if (job.kind === "deposit") {
    yield* ChannelChecks.deposit(chain, job, { token })
    yield* asMuchAsOffered(job.authorization.value, request.requirements.extra)
  }
  return {
    ...partiesOf(config),
    channelId: ChannelConfig.id(chainId, config),
    config: ChannelConfig.onWire(config),
    maximum: voucher.maxClaimableAmount,
    voucher: Voucher.onWire(voucher),
    deposit: job.kind === "deposit" ? job.authorization.value : undefined,
    withdrawDelay: config.withdrawDelay,
    ...(message.type === "refund" && { refund: { amount: message.amount } })
  }
})

/** The offer asks for a deposit that is worth its transaction. */
const asMuchAsOffered = (value: bigint, extra: PaymentRequirements.PaymentRequirements["extra"]) => {
  const least = extra?.["minDeposit"]
  if (typeof least !== "string" || !/^\d{1,39}$/.test(least) || value >= BigInt(least)) return Effect.void
  const message = `the deposit is of ${value}, the offer asks for ${least} at least (minDeposit)`
  return Effect.fail(ChannelRefusal.make("deposit_below_min_deposit", message))
}

const noDraw = ChannelRefusal.make(
  "payload_type",
  "a request is paid by a deposit or a voucher, and a payer asks for a refund; claims and payouts are the shop's own"
)

const otherCaller = ChannelRefusal.make(
  "authorizer_not_configured",
  "the facilitator authorizes no claims for this caller, or for none without a key and a registered payee: nothing is drawn on its channels"
)

const otherAuthorizer = ({ receiverAuthorizer }: ChannelConfig.ChannelConfig, { address }: Authorizer) =>
  ChannelRefusal.make(
    "receiver_authorizer_mismatch",
    `the channel's receiverAuthorizer is ${EvmAddress.checksum(receiverAuthorizer)}, claims are authorized by ${EvmAddress.checksum(address)}`
  )

const partiesOf = ({ payer, receiver, token }: ChannelConfig.ChannelConfig) => ({
  payer: EvmAddress.checksum(payer),
  payTo: EvmAddress.checksum(receiver),
  asset: EvmAddress.checksum(token)
})

const states = Effect.fnUntraced(function* (
  { lagGuard: { confirm, rpc } }: ChannelChain,
  ids: ReadonlyArray<string>
): Effect.fn.Return<
  Effect.Success<ReturnType<SchemeDraws["states"]>>,
  Effect.Error<ReturnType<SchemeDraws["states"]>>
> {
  const hexes = ids.map((id) => EvmHex.fromTrusted(id))
  const [channels, block] = yield* confirm((number) =>
    Effect.all([ChannelReads.channels(rpc, hexes, number), placeOf(rpc, number)], { concurrency: "unbounded" })
  )
  return ids.map((channelId, index) => {
    const { balance, claimed, refundNonce, withdrawRequestedAt } = channels[index] ?? ChannelReads.nothing
    const requestedAt = withdrawRequestedAt === 0 ? undefined : withdrawRequestedAt
    return { channelId, balance, claimed, refundNonce, withdrawRequestedAt: requestedAt, block }
  })
})

/** The name of a block. A node that does not know it says nothing about the channels. */
const placeOf = (rpc: ChannelChain["rpc"], number: bigint) =>
  Effect.flatMap(rpc.getBlock(number), (block) =>
    block === undefined ? EvmRpc.unknownBlock(rpc, number) : Effect.succeed({ number: block.number, hash: block.hash })
  )

const stateOf = ({ channelId, owed, withdrawRequestedAt = 0, ...sums }: ChannelAccount) => ({
  ...factsOf(EvmHex.fromTrusted(channelId), { ...sums, withdrawRequestedAt }),
  chargedCumulativeAmount: `${owed}`
})

const voucherOf = ({ voucher }: ChannelAccount) => {
  const known = decodeVoucher(voucher)
  if (Result.isFailure(known)) return {}
  const { maxClaimableAmount, signature } = known.success
  return { voucherState: { signedMaxClaimable: `${maxClaimableAmount}`, signature } }
}

/** The parties by the ledger's own object of a channel's terms, which is the same one for many draws. */
const partiesByTerms = (): SchemeDraws["parties"] => {
  const known = new WeakMap<object, ChannelParties>()
  return (config) => {
    if (typeof config !== "object" || config === null) return partiesOf(configOf(config))
    const parties = known.get(config) ?? partiesOf(configOf(config))
    known.set(config, parties)
    return parties
  }
}

type Row = Parameters<SchemeDraws["claims"]>[0][number]

/** Rows by receiver, token and authorizer, in parts of one claim: a key that is not ours any more fails its own rows alone. */
const claimsOf = (chain: ChannelChain, rows: ReadonlyArray<Row>): ReadonlyArray<ClaimRequests> => {
  const groups = new Map<string, Array<Row>>()
  for (const row of rows) {
    const config = configOf(row.config)
    const { payTo, asset } = partiesOf(config)
    const key = `${payTo} ${asset} ${config.receiverAuthorizer}`
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  return [...groups.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / rowsTogether) }, (_, part) =>
      claimOf(chain, group.slice(part * rowsTogether, (part + 1) * rowsTogether))
    )
  )
}

/** A receiver and a token. */
type Account = Parameters<SchemeDraws["payouts"]>[0][number]

const requirementsOf = (
  { network }: ChannelChain,
  { asset, payTo }: Account
): PaymentRequirements.PaymentRequirements => ({
  scheme: "batch-settlement",
  network,
  maxAmountRequired: "1",
  resource: "payment channels",
  payTo,
  maxTimeoutSeconds: 3_600,
  asset
})

const payoutOf = Effect.fnUntraced(function* (chain: ChannelChain, account: Account) {
  const { confirm, rpc } = chain.lagGuard
  const [receiver, token] = [EvmAddress.fromText(account.payTo), EvmAddress.fromText(account.asset)]
  const sums =
    receiver === undefined || token === undefined
      ? { claimed: 0n, settled: 0n }
      : yield* confirm((block) => ChannelReads.receiver(rpc, receiver, token, block))
  return {
    unpaid: sums.claimed > sums.settled ? sums.claimed - sums.settled : 0n,
    requirements: requirementsOf(chain, account),
    payload: { type: "settle", receiver: account.payTo, token: account.asset }
  } satisfies Payout
})

const refundOf = (
  chain: ChannelChain,
  { amount, claim, config, nonce, voucher }: Parameters<SchemeDraws["refund"]>[0]
): ReturnType<SchemeDraws["refund"]> => ({
  requirements: requirementsOf(chain, partiesOf(configOf(config))),
  payload: {
    type: "refund",
    channelConfig: config,
    voucher,
    amount: `${amount}`,
    refundNonce: `${nonce}`,
    claims: claim === undefined ? [] : [rowOf({ ...claim, config })]
  }
})

const rowOf = ({ config, total, voucher }: Pick<Row, "config" | "total" | "voucher">) => {
  const { maxClaimableAmount, signature } = Result.getOrThrow(decodeVoucher(voucher))
  return {
    voucher: { channel: config, maxClaimableAmount: `${maxClaimableAmount}` },
    signature,
    totalClaimed: `${total}`
  }
}

const claimOf = (chain: ChannelChain, rows: ReadonlyArray<Row>): ClaimRequests => {
  const [first] = rows
  const requirements = requirementsOf(chain, partiesOf(configOf(first?.config ?? {})))
  const claims = rows.map(rowOf)
  return {
    rows,
    channelIds: rows.map(({ channelId }) => channelId),
    requirements,
    claim: { type: "claim", claims }
  }
}
