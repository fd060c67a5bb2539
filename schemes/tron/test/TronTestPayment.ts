/**
 * Payments for tests: 10,000 units from a payer to the payee on the test chain, encoded and signed by
 * tronweb rather than by our own client, each with one deviation.
 */
import { createHash, randomBytes } from "node:crypto"

import {
  Facilitator,
  LocalFacilitator,
  type Payment,
  type PaymentFailure,
  PaymentPayload,
  type PaymentRequest,
  type PaymentRequirements,
  type PreparedTransaction,
  type SchemeFacilitator,
  type Settled
} from "@pontage/core"
import * as Network from "@pontage/core/Network"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type { TronWeb } from "tronweb"

import { exactTron, TronSigner } from "../src/index.ts"
import * as TronRpc from "../src/node/TronRpc.ts"
import * as TronAddress from "../src/primitives/TronAddress.ts"
import * as TronHex from "../src/primitives/TronHex.ts"
import { type TronTestAccounts, TronTestChain } from "../src/testing/index.ts"
import type { CustomAsset } from "../src/transfer/TronAsset.ts"
import * as TronTransaction from "../src/transfer/TronTransaction.ts"
import { localSigner } from "../src/wallet/LocalTronSigner.ts"
import { byTronWeb, tronWebOf } from "./TronTransfers.ts"

type Json = Readonly<Record<string, unknown>>

/** The difference of a payment from the valid one. */
export interface Deviation {
  /** Payer; default the first one. */
  readonly payer?: TronTestAccounts.TestAccount
  /** Account whose key signs; default the payer, by tronweb. */
  readonly signer?: TronTestAccounts.TestAccount
  /** Other terms, validly signed. */
  readonly transfer?: Partial<TronTransaction.TokenTransfer>
  /** Fields of the transaction that a payment lacks, validly signed. */
  readonly raw?: Json
  /** Fields of the contract beside its parameter. */
  readonly contract?: Json
  /** Fields of the call. */
  readonly call?: Json
  /** Bytes appended to the raw data before it is signed. */
  readonly behind?: string
  /** Fields of the payload that differ from the signed ones. */
  readonly written?: (signed: SignedJson) => Json
  readonly binding?: PaymentPayload.RequestBinding
  /** Fields of the envelope. */
  readonly envelope?: Partial<PaymentPayload.PaymentPayload>
  /** Another offer than the payment's. */
  readonly requirements?: Partial<PaymentRequirements.PaymentRequirements>
}

/** A transaction signed by a wallet. */
export interface SignedJson {
  readonly txID: string
  readonly raw_data_hex: string
  readonly signature: ReadonlyArray<string>
}

/** Parses a valid address. */
export const parsed = (text: string): TronAddress.Address =>
  TronAddress.fromText(text) ?? TronAddress.fromTail("0".repeat(40))

/** Terms that bind a payment to a request; the timestamp is derived independently, by another library than ours. */
export const bound = (salt: Uint8Array = randomBytes(16)): Required<Pick<Deviation, "binding" | "transfer">> => {
  const challenge = "challenge-of-a-shop"
  const tag = createHash("sha256").update(challenge, "ascii").update(salt).digest("hex")
  const binding = { challenge, salt: Buffer.from(salt).toString("base64url") }
  return { binding, transfer: { timestamp: BigInt(`0x${tag.slice(0, 12)}`) } }
}

export const requirements = Effect.map(TronTestChain.TronTestChain, ({ accounts, network, token }) => {
  const made: PaymentRequirements.PaymentRequirements = {
    scheme: "exact",
    network: Network.make(network),
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo: accounts.payee.address,
    asset: token.address
  }
  return made
})

/** Requests to the test chain, beside those of the scheme under test. */
export const rpc = Effect.flatMap(TronTestChain.TronTestChain, ({ network, rpcUrl }) =>
  Effect.orDie(TronRpc.make({ url: rpcUrl, network }))
)

let lastTimestamp = 1_795_244_400_000n

/** The valid transfer, or a deviating one. */
export const transfer = Effect.fnUntraced(function* ({ payer, transfer: terms }: Deviation = {}) {
  const { accounts, token } = yield* TronTestChain.TronTestChain
  const head = yield* Effect.orDie((yield* rpc).head)
  const now = yield* Clock.currentTimeMillis
  const made: TronTransaction.TokenTransfer = {
    owner: parsed((payer ?? accounts.payers[0]).address),
    token: parsed(token.address),
    to: parsed(accounts.payee.address),
    amount: 10_000n,
    feeLimit: 30_000_000n,
    expiration: (BigInt(now) / 1000n) * 1000n + 60_000n,
    timestamp: ++lastTimestamp,
    refBlockBytes: (head.number & 0xffffn).toString(16).padStart(4, "0"),
    refBlockHash: head.id.slice(16, 32),
    ...terms
  }
  return made
})

/** The JSON form for tronweb, with the deviations. */
const unsignedOf = (terms: TronTransaction.TokenTransfer, { call, contract, raw }: Deviation) => {
  const { raw_data: plain } = TronTransaction.unsignedTransfer(terms)
  const contracts = plain.contract.map(({ parameter, type }) => ({
    type,
    parameter: { ...parameter, value: { ...parameter.value, ...call } },
    ...contract
  }))
  return { visible: false, raw_data: { ...plain, contract: contracts, ...raw } }
}

const signWith = async (
  tronWeb: TronWeb | undefined,
  key: string,
  json: object,
  bytes: string
): Promise<SignedJson> => {
  const txID = createHash("sha256").update(Buffer.from(bytes, "hex")).digest("hex")
  if (tronWeb !== undefined) {
    const { signature } = await TronSigner.fromTronWeb(tronWeb).signTransaction(
      // The JSON form may have fields that a payment lacks: they are under test.
      Object.assign(structuredClone(TronTransaction.unsignedTransfer(zeroTransfer)), json, {
        txID,
        raw_data_hex: bytes
      })
    )
    return { txID, raw_data_hex: bytes, signature }
  }
  const wanted = Object.assign(TronTransaction.unsignedTransfer(zeroTransfer), { txID, raw_data_hex: bytes })
  return { txID, ...(await localSigner(key).signTransaction(wanted)) }
}

const zeros = TronAddress.fromTail("0".repeat(40))
const zeroTransfer: TronTransaction.TokenTransfer = {
  owner: zeros,
  token: zeros,
  to: zeros,
  amount: 0n,
  feeLimit: 1n,
  expiration: 1n,
  timestamp: 1n,
  refBlockBytes: "0000",
  refBlockHash: "0".repeat(16)
}

/** The transaction signed by the payer's tronweb, unless another account signs or bytes are appended to tronweb's. */
export const signed = Effect.fnUntraced(function* (deviation: Deviation = {}) {
  const { accounts } = yield* TronTestChain.TronTestChain
  const json = unsignedOf(yield* transfer(deviation), deviation)
  const { behind, payer = accounts.payers[0], signer } = deviation
  const bytes = `${byTronWeb(json).raw_data_hex}${behind ?? ""}`
  const { privateKey } = signer ?? payer
  const isTronWebs = signer === undefined && behind === undefined
  return yield* Effect.promise(() => signWith(isTronWebs ? tronWebOf(privateKey) : undefined, privateKey, json, bytes))
})

/** A payment. */
export const payment = Effect.fnUntraced(function* (deviation: Deviation = {}) {
  const { accounts, network } = yield* TronTestChain.TronTestChain
  const signedTransaction = yield* signed(deviation)
  const { binding, payer = accounts.payers[0], written } = deviation
  const json = {
    from: payer.address,
    signedTransaction,
    ...(binding && { binding }),
    ...written?.(signedTransaction)
  }
  const request: PaymentRequest = {
    paymentPayload: { ...PaymentPayload.sealPayload("exact", network, json), ...deviation.envelope },
    paymentRequirements: { ...(yield* requirements), ...deviation.requirements }
  }
  return request
})

/** Number of transactions that the node has received. */
export const broadcasts = Effect.flatMap(TronTestChain.TronTestChain, ({ requests }) =>
  Effect.map(requests, (counts) => counts.get("/wallet/broadcasthex") ?? 0)
)

/** A claim on the one resource that tests sell, with its own id. */
export const claim = (id: string) => ({ id: id.padEnd(22, "x"), resource: "resource".padEnd(43, "x") })

/** The outcome of an effect: its failure's code or reason with the detail, or its tag; `ok` for a success. */
export const outcome = <A, R>(effect: Effect.Effect<A, PaymentFailure, R>) =>
  Effect.match(effect, {
    onSuccess: () => "ok",
    onFailure: (error) => {
      if (error._tag === "PaymentError") return `${error.code} ${error.detail}`
      return error._tag === "ValidationError" ? `${error.reason} ${error.detail}` : error._tag
    }
  })

/** The outcome of a settlement, with its status for a success. */
export const settled = <R>(settling: Effect.Effect<Settled, PaymentFailure, R>) =>
  Effect.flatMap(Effect.result(settling), (result) =>
    Result.isFailure(result) ? outcome(Effect.fail(result.failure)) : Effect.succeed(result.success.status)
  )

/** The options of the scheme facilitator that tests set. */
export interface FacilitatorOptions extends Partial<Omit<Parameters<typeof exactTron.facilitator>[0], "assets">> {
  /** Tokens to settle beside the chain's own, in base58check. */
  readonly tokens?: ReadonlyArray<string>
}

const assetOf = (network: string, address: string): CustomAsset => ({
  network,
  address,
  symbol: `T${address.slice(1, 7)}`,
  decimals: 6
})

/** The scheme facilitator on the test chain. */
export const schemeFacilitator = Effect.fnUntraced(function* ({ tokens = [], ...options }: FacilitatorOptions = {}) {
  const { network, rpcUrl } = yield* TronTestChain.TronTestChain
  const assets = tokens.map((address) => assetOf(network, address))
  // A node responds late on a busy machine, and no test means that.
  return yield* exactTron.facilitator({ rpcUrl, network, assets, rpcTimeoutMillis: 600_000, ...options })
})

/** A payment as the scheme facilitator reads it. */
export const read = <Payload>(
  scheme: SchemeFacilitator<Payload>,
  { paymentPayload, paymentRequirements }: PaymentRequest
) =>
  Effect.flatMap(Effect.fromResult(PaymentPayload.openPayload(paymentPayload)), (json) =>
    scheme.read(paymentRequirements, json)
  )

/** The bytes that settle a payment. */
export const prepare = Effect.fnUntraced(function* <Payload>(
  scheme: SchemeFacilitator<Payload>,
  one: Payment<Payload>
) {
  return (yield* scheme.prepare([one], undefined, yield* scheme.chainHead)).prepared
})

/** Observes one payment whose only transaction this is. */
export const observe = <Payload>(
  scheme: SchemeFacilitator<Payload>,
  one: Payment<Payload>,
  prepared: PreparedTransaction
) =>
  Effect.map(scheme.observe([{ payment: one, since: prepared.head }], [prepared]), ({ inclusion, observations }) => {
    const [seen] = observations
    const word = seen?._tag === "Failed" ? seen.error.message : ""
    const code = seen?._tag === "Failed" ? describe(seen.error) : seen?._tag
    return { inclusion, seen: code ?? "nothing", word }
  })

/** Observes until the payment is no longer pending. */
export const end = <Payload>(
  scheme: SchemeFacilitator<Payload>,
  one: Payment<Payload>,
  prepared: PreparedTransaction
) => Effect.repeat(observe(scheme, one, prepared), { until: ({ seen }) => seen !== "Pending" })

const describe = (error: Extract<PaymentFailure, { readonly _tag: "PaymentError" | "ValidationError" }>) =>
  error._tag === "PaymentError" ? `${error.code} ${error.detail}` : `${error.reason} ${error.detail}`

/** A facilitator in memory, on the test chain; it closes with the scope. */
export const facilitator = Effect.fnUntraced(function* (
  options: FacilitatorOptions & { readonly settleTimeoutMillis?: number } = {}
) {
  // No outcome depends on how slow the machine is, unless a test asks for a short wait.
  const { settleTimeoutMillis = 600_000, ...rest } = options
  const chain = yield* TronTestChain.TronTestChain
  const scheme = Effect.provideService(schemeFacilitator(rest), TronTestChain.TronTestChain, chain)
  const local = LocalFacilitator.layerMemory({
    schemes: [scheme],
    drainMillis: 0,
    settleTimeoutMillis
  })
  return Context.get(yield* Layer.build(local), Facilitator)
})

/** The raw data of a transfer, in hexadecimal. */
export const hexOf = (terms: TronTransaction.TokenTransfer): string =>
  TronHex.fromBytes(TronTransaction.encodeTransfer(terms))

/** Blocks after which a transaction's block is solidified. */
export const solidified = 19

/** The result of an effect, and the tokens that the payee gains meanwhile. */
export const gain = Effect.fnUntraced(function* <A, E, R>(body: Effect.Effect<A, E, R>) {
  const chain = yield* TronTestChain.TronTestChain
  const before = yield* chain.balanceOf(chain.accounts.payee.address)
  const result = yield* body
  return [result, (yield* chain.balanceOf(chain.accounts.payee.address)) - before] as const
})

/** One of the payers. */
export const payerAt = (index: number) =>
  Effect.map(TronTestChain.TronTestChain, ({ accounts: { payers } }) => payers[index] ?? payers[0])
