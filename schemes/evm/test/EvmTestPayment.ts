/**
 * Payments for tests: 10,000 units from the first payer to the payee on the test chain, signed by viem and built by hand, so
 * that the facilitator is tested independently of our own client; each with one deviation.
 */
import { createHash, randomBytes } from "node:crypto"

import {
  Facilitator,
  LocalFacilitator,
  type Payment,
  type PaymentFailure,
  PaymentId,
  PaymentPayload,
  type PaymentRequest,
  type PaymentRequirements,
  type PreparedTransaction,
  type SchemeFacilitator,
  type Settled
} from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Hex } from "viem"

import { exactEvm } from "../src/index.ts"
import * as EvmChainHead from "../src/node/EvmChainHead.ts"
import * as EvmAddress from "../src/primitives/EvmAddress.ts"
import * as EvmHex from "../src/primitives/EvmHex.ts"
import * as EvmNetwork from "../src/primitives/EvmNetwork.ts"
import { DollarToken, type EvmTestAccounts, EvmTestChain } from "../src/testing/index.ts"
import * as Eip3009 from "../src/transfer/Eip3009.ts"
import type { CustomAsset } from "../src/transfer/EvmAsset.ts"

/** The signed terms, as in a payload. */
type Fields = Readonly<Record<keyof Eip3009.TransferWithAuthorization, unknown>>

/** The deviation of a payment from the good one. */
export interface Deviation {
  /** The payer of the authorization; default the first payer. */
  readonly from?: string
  /** The account whose key signs; default the first payer. */
  readonly signer?: Pick<EvmTestAccounts.TestAccount, "signTypedData">
  /** The token it is signed for; default the chain's own. */
  readonly token?: string
  /** Other terms, properly signed. */
  readonly signed?: Partial<Eip3009.TransferWithAuthorization>
  /** Other terms in the payload than in what was signed. */
  readonly written?: Partial<Fields>
  /** Changes the signature. */
  readonly signature?: (signature: Hex) => unknown
  readonly binding?: PaymentPayload.RequestBinding
  /** Of the envelope. */
  readonly envelope?: Partial<PaymentPayload.PaymentPayload>
  /** Another offer than the payment's. */
  readonly requirements?: Partial<PaymentRequirements.PaymentRequirements>
}

let lastNonce = 0n

/** An unused nonce: a number in front, 64 zero bits behind. */
export const freshNonce = (): Hex => `0x${EvmHex.toWord(++lastNonce << 64n)}`

/** Terms that bind a payment to a request; the nonce is derived here once more, by another library than ours. */
export const bound = (salt: Uint8Array = randomBytes(16)): Required<Pick<Deviation, "binding" | "signed">> => {
  const challenge = "challenge-of-a-shop"
  const tag = createHash("sha256").update(challenge, "ascii").update(salt).digest("hex")
  const binding = { challenge, salt: Buffer.from(salt).toString("base64url") }
  return { binding, signed: { nonce: `0x${tag.slice(0, 48)}0000000000000000` } }
}

export const now = Effect.map(Clock.currentTimeMillis, (millis) => BigInt(Math.floor(millis / 1000)))

/** The later one of our time and the chain's, which a test may have moved on; seconds since 1970. */
export const latestTime = Effect.gen(function* () {
  const { client } = yield* EvmTestChain.EvmTestChain
  const { timestamp } = yield* Effect.promise(() => client.getBlock())
  const ours = yield* now
  return timestamp > ours ? timestamp : ours
})

/** Moves the chain's time on to this one, and mines this number of blocks behind it. */
export const finalise = Effect.fnUntraced(function* (time: bigint, depth = EvmChainHead.defaultFinalityDepth) {
  const { client, mine, setNextBlockTimestamp } = yield* EvmTestChain.EvmTestChain
  const { timestamp } = yield* Effect.promise(() => client.getBlock())
  yield* setNextBlockTimestamp(time > timestamp ? time : timestamp + 1n)
  yield* mine()
  yield* mine(depth)
})

/** The operator's table entry of a token with the name of the chain's token. */
export const asset = (chain: EvmTestChain.Shape, address: string = chain.token.address): CustomAsset => ({
  ...chain.token,
  network: chain.network,
  address,
  symbol: `T${address.slice(2, 8)}`
})

export const requirements = Effect.map(EvmTestChain.EvmTestChain, (chain): PaymentRequirements.PaymentRequirements => ({
  scheme: "exact",
  network: EvmNetwork.fromChainId(chain.chainId),
  maxAmountRequired: "10000",
  resource: "https://shop.example/report",
  payTo: chain.accounts.payee.address,
  asset: chain.token.address
}))

/** A parsed address of a text that is one. */
export const parsed = (text: string): EvmAddress.Address => EvmAddress.fromText(text) ?? EvmAddress.zero

/** The authorization of a payment. */
export const authorization = Effect.fnUntraced(function* ({ from, signed }: Deviation = {}) {
  const { accounts } = yield* EvmTestChain.EvmTestChain
  const made: Eip3009.TransferWithAuthorization = {
    from: parsed(from ?? accounts.payers[0].address),
    to: parsed(accounts.payee.address),
    value: 10_000n,
    validAfter: 0n,
    validBefore: (yield* latestTime) + 60n,
    nonce: freshNonce(),
    ...signed
  }
  return made
})

/** A key's signature of an authorization. */
export const sign = Effect.fnUntraced(function* (
  message: Eip3009.TransferWithAuthorization,
  { signer, token }: Pick<Deviation, "signer" | "token"> = {}
) {
  const chain = yield* EvmTestChain.EvmTestChain
  const { name, version } = chain.token
  const verifyingContract = parsed(token ?? chain.token.address)
  const data = Eip3009.typedData({ name, version, chainId: chain.chainId, verifyingContract }, message)
  return yield* Effect.promise(() => (signer ?? chain.accounts.payers[0]).signTypedData(data))
})

/** A payment and the calldata by which a stranger could settle it. */
export const signedPayment = Effect.fnUntraced(function* (deviation: Deviation = {}) {
  const { network, token } = yield* EvmTestChain.EvmTestChain
  const message = yield* authorization(deviation)
  const signature = yield* sign(message, deviation)
  const { nonce, ...numbers } = message
  const json = {
    signature: deviation.signature ? deviation.signature(signature) : signature,
    authorization: {
      ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, `${value}`])),
      nonce,
      ...deviation.written
    },
    ...(deviation.binding && { binding: deviation.binding })
  }
  const request: PaymentRequest = {
    paymentPayload: { ...PaymentPayload.sealPayload("exact", network, json), ...deviation.envelope },
    paymentRequirements: {
      ...(yield* requirements),
      ...(deviation.token !== undefined && { asset: deviation.token }),
      ...deviation.requirements
    }
  }
  const call = { to: parsed(deviation.token ?? token.address), data: Eip3009.encodeTransferByParts(message, signature) }
  return { request, authorization: message, call }
})

export const payment = (deviation: Deviation = {}) => Effect.map(signedPayment(deviation), ({ request }) => request)

/** A claim on the one resource that tests sell; `id` distinguishes claims. */
export const claim = (id: string) => ({ id: id.padEnd(22, "x"), resource: "resource".padEnd(43, "x") })

/** The outcome of an effect, in a word: its failure's code or reason with the detail, or its tag; `ok` for a success. */
export const outcome = <A, R>(effect: Effect.Effect<A, PaymentFailure, R>) =>
  Effect.match(effect, {
    onSuccess: () => "ok",
    onFailure: (error) => {
      if (error._tag === "PaymentError") return `${error.code} ${error.detail}`
      return error._tag === "ValidationError" ? `${error.reason} ${error.detail}` : error._tag
    }
  })

/** The same for a settlement, with its result for a success. */
export const settled = <R>(settling: Effect.Effect<Settled, PaymentFailure, R>) =>
  Effect.gen(function* () {
    const result = yield* Effect.result(settling)
    if (Result.isFailure(result)) return yield* outcome(Effect.fail(result.failure))
    const { execution, status, transaction } = result.success
    return { execution, status, transaction }
  })

/** The id of a payment of the test chain's own token or another. */
export const idOf = Effect.fnUntraced(function* ({ paymentPayload, paymentRequirements }: PaymentRequest) {
  const schemeFacilitator = yield* scheme(yield* EvmTestChain.EvmTestChain, {
    tokens: [paymentRequirements.asset ?? ""]
  })
  const { authorization } = yield* read(schemeFacilitator, { paymentPayload, paymentRequirements })
  return yield* PaymentId.make(schemeFacilitator.network, authorization)
})

const TransactionPool = Schema.decodeUnknownSync(Schema.Struct({ pending: Schema.String, queued: Schema.String }))

/** Waits until the node's pool has this number of transactions, executable or not. */
export const pooled = Effect.fnUntraced(function* (expected: number) {
  const { request } = yield* EvmTestChain.EvmTestChain
  const size = Effect.map(request("txpool_status"), (answer) => {
    const { pending, queued } = TransactionPool(answer)
    return Number(pending) + Number(queued)
  })
  return yield* Effect.repeat(size, { until: (found) => found === expected })
})

const Pending = Schema.decodeUnknownSync(
  Schema.Struct({ transactions: Schema.Array(Schema.Struct({ from: Schema.String, nonce: Schema.String })) })
)

/** The signer's first transaction that is executable in the node's pool. */
export const pendingOf = Effect.fnUntraced(function* (signer: string) {
  const { request } = yield* EvmTestChain.EvmTestChain
  const { transactions } = Pending(yield* request("eth_getBlockByNumber", ["pending", true]))
  const found = transactions.find(({ from }) => from === signer.toLowerCase())
  return found ?? (yield* Effect.die(`${signer} has nothing in the pool`))
})

/** The options of the scheme facilitator, as far as tests differ. */
export interface FacilitatorOptions extends Partial<
  Omit<Parameters<typeof exactEvm.facilitator>[0], "signer" | "assets">
> {
  readonly signer?: EvmTestAccounts.TestAccount | ReadonlyArray<EvmTestAccounts.TestAccount>
  /** Tokens it settles beside the chain's own. */
  readonly tokens?: ReadonlyArray<string>
}

/** The scheme facilitator on the test chain, with other assets beside the tokens named. */
export const schemeOf = (
  chain: EvmTestChain.Shape,
  { tokens, ...options }: FacilitatorOptions,
  assets: ReadonlyArray<CustomAsset>
) =>
  exactEvm.facilitator({
    signer: chain.accounts.signers[0],
    rpcUrl: chain.rpcUrl,
    assets: [...assets, ...[chain.token.address, ...(tokens ?? [])].map((address) => asset(chain, address))],
    ...options
  })

/** The scheme facilitator on the test chain. */
export const scheme = (chain: EvmTestChain.Shape, options: FacilitatorOptions = {}) => schemeOf(chain, options, [])

/** A payment as a scheme facilitator reads it. */
export const read = <Payload>(
  schemeFacilitator: SchemeFacilitator<Payload>,
  { paymentPayload, paymentRequirements }: PaymentRequest
) =>
  Effect.flatMap(Effect.fromResult(PaymentPayload.openPayload(paymentPayload)), (json) =>
    schemeFacilitator.read(paymentRequirements, json)
  )

/** Signs the transaction that settles a payment, in the next slot. */
export const prepareAlone = Effect.fnUntraced(function* <Payload>(
  schemeFacilitator: SchemeFacilitator<Payload>,
  payment: Payment<Payload>
) {
  const [lane = ""] = schemeFacilitator.lanes
  const slot = { lane, number: yield* schemeFacilitator.nextSlot(lane, "known") }
  return (yield* schemeFacilitator.prepare([payment], slot, yield* schemeFacilitator.chainHead)).prepared
})

/** The observation of one payment with this transaction alone. */
export const observeAlone = <Payload>(
  schemeFacilitator: SchemeFacilitator<Payload>,
  payment: Payment<Payload>,
  prepared: PreparedTransaction
) =>
  Effect.map(
    schemeFacilitator.observe([{ payment, since: prepared.head }], [prepared]),
    ({ inclusion, observations: [observation] }) => ({
      inclusion,
      observation: observation ?? { _tag: "Pending" as const }
    })
  )

/**
 * Sends prepared bytes and looks until the chain proves an end: where the transaction is in a block and does not show the
 * transfer, its validity has to be over in a final block. For scheme facilitators of the usual finality.
 */
export const sendAlone = Effect.fnUntraced(function* <Payload>(
  schemeFacilitator: SchemeFacilitator<Payload>,
  payment: Payment<Payload>,
  prepared: PreparedTransaction
) {
  yield* schemeFacilitator.submit(prepared)
  const { observation } = yield* Effect.repeat(observeAlone(schemeFacilitator, payment, prepared), {
    while: ({ inclusion, observation: { _tag } }) => inclusion === undefined && _tag === "Pending"
  })
  if (observation._tag !== "Pending") return observation
  yield* finalise(BigInt(payment.authorization.validBefore))
  return (yield* Effect.repeat(observeAlone(schemeFacilitator, payment, prepared), {
    while: ({ observation: { _tag } }) => _tag === "Pending",
    times: 100
  })).observation
})

/** The next slot of a scheme facilitator's first lane. */
export const nextSlot = Effect.fnUntraced(function* (schemeFacilitator: SchemeFacilitator<never>) {
  const [lane = ""] = schemeFacilitator.lanes
  return { lane, number: yield* schemeFacilitator.nextSlot(lane, "known") }
})

/** A separate facilitator, in memory, on the test chain, with other assets beside its own; it stops with the scope. */
export const facilitatorOf = Effect.fnUntraced(function* (
  options: FacilitatorOptions & { readonly settleTimeoutMillis?: number },
  assets: ReadonlyArray<CustomAsset>
) {
  // No outcome depends on how slow the machine is, unless a test asks for a short wait.
  const { settleTimeoutMillis = 600_000, ...rest } = options
  const chain = yield* EvmTestChain.EvmTestChain
  const schemes = [schemeOf(chain, rest, assets)]
  const local = LocalFacilitator.layerMemory({
    schemes,
    settleTimeoutMillis,
    // Payments that a test leaves unfinished are not waited for.
    drainMillis: 0
  })
  return Context.get(yield* Layer.build(local), Facilitator)
})

/** A separate facilitator, in memory, on the test chain; it stops with the scope. */
export const facilitator = (options: FacilitatorOptions & { readonly settleTimeoutMillis?: number } = {}) =>
  facilitatorOf(options, [])

/** The statuses of the receipts of a signer's transactions from a block on, in order. */
export const statusesOf = Effect.fnUntraced(function* (signer: string, fromBlock = 0n) {
  const { client } = yield* EvmTestChain.EvmTestChain
  const head = yield* Effect.promise(() => client.getBlockNumber())
  const numbers = Array.from({ length: Number(head - fromBlock) + 1 }, (_, index) => fromBlock + BigInt(index))
  const blocks = yield* Effect.forEach(numbers, (blockNumber) =>
    Effect.promise(() => client.getBlock({ blockNumber, includeTransactions: true }))
  )
  const sent = blocks.flatMap(({ transactions }) => transactions.filter(({ from }) => from === signer.toLowerCase()))
  return yield* Effect.forEach(sent, ({ hash }) =>
    Effect.promise(async () => (await client.getTransactionReceipt({ hash })).status)
  )
})

/** The amounts moved under one authorization's nonce, by the token's own events. */
export const timesUsed = Effect.fnUntraced(function* ({ from, nonce }: Eip3009.TransferWithAuthorization) {
  const { client, token } = yield* EvmTestChain.EvmTestChain
  const args = { authorizer: from, nonce }
  const logs = yield* Effect.promise(() =>
    client.getContractEvents({
      address: token.address,
      abi: DollarToken.abi,
      eventName: "AuthorizationUsed",
      args,
      fromBlock: 0n
    })
  )
  return logs.length
})
