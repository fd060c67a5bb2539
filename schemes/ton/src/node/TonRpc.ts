/**
 * The requests that this package sends to a node, in the dialect of toncenter's API (v2), each response decoded by a schema. A
 * node shows the state that the masterchain has committed, which is never reverted.
 */
import { type Block, ChainUnavailable, type Misconfigured } from "@pontage/core"
import { Cell } from "@ton/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import type * as TonAddress from "../primitives/TonAddress.ts"
import * as TonBoc from "../primitives/TonBoc.ts"
import * as TonJsonRpc from "./TonJsonRpc.ts"
import * as TonStack from "./TonStack.ts"
import * as TonTransaction from "./TonTransaction.ts"

/** An account as of a masterchain block. */
export interface Account {
  readonly state: "active" | "uninitialized" | "frozen"
  /** In nanotons. */
  readonly balance: bigint
  readonly code: Cell | undefined
  readonly data: Cell | undefined
  /** Its newest transaction; `lt` is 0 where it has none. */
  readonly last: { readonly lt: bigint; readonly hash: string }
  readonly head: Block & { readonly time: number }
}

/** Result of a get method: its stack, or the exit code of its failure. */
export type GetResult = (
  | { readonly _tag: "Returned"; readonly stack: ReadonlyArray<TonStack.Item> }
  /** The method failed, or the contract lacks it, or the account has no contract. */
  | { readonly _tag: "Failed"; readonly exitCode: number }
) & {
  /** The masterchain block of the state that it ran on; `undefined` where the node does not name it. */
  readonly block: bigint | undefined
}

/** The node's response to a message. */
export type SendResult = { readonly _tag: "Taken" } | { readonly _tag: "Refused"; readonly message: string }

type Response<A> = Effect.Effect<A, ChainUnavailable>

/** The requests. */
export interface TonRpc {
  readonly network: string
  /** The root hash of the chain's zero state, base64: it identifies the chain. */
  readonly zeroState: Response<string>
  /**
   * The newest masterchain block among the responses of the last minute; 0 without one. A backend with older responses is behind
   * the others: it does not know the state that they have shown.
   */
  readonly newest: Effect.Effect<bigint>
  /** The chain's configuration: prices and limits. */
  readonly config: Response<Cell>
  readonly account: (address: TonAddress.Address) => Response<Account>
  readonly get: (
    address: TonAddress.Address,
    method: string,
    stack?: ReadonlyArray<TonStack.Argument>
  ) => Response<GetResult>
  /** The masterchain block of this number; `undefined` where the node does not know it. */
  readonly block: (number: bigint) => Response<Block | undefined>
  /** The masterchain block that was current at this logical time. */
  readonly blockAt: (lt: bigint) => Response<Block | undefined>
  /** An account's transactions from this one backwards, newest first, at least that one, without a gap. */
  readonly transactions: (
    address: TonAddress.Address,
    from: { readonly lt: bigint; readonly hash: string },
    limit: number
  ) => Response<ReadonlyArray<TonTransaction.TonTransaction>>
  /** The transaction that exactly this message caused; `undefined` while there is none. Any other one counts as malformed. */
  readonly result: (
    source: TonAddress.Address,
    destination: TonAddress.Address,
    createdLt: bigint
  ) => Response<TonTransaction.TonTransaction | undefined>
  /** The transaction that sent exactly this message. */
  readonly origin: (
    source: TonAddress.Address,
    destination: TonAddress.Address,
    createdLt: bigint
  ) => Response<TonTransaction.TonTransaction | undefined>
  /** Sends an external message: a bag of cells in base64. */
  readonly send: (boc: string) => Response<SendResult>
}

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Digest = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+/]{43}=$/))
const WholeNumber = Schema.String.check(Schema.isPattern(/^[0-9]{1,39}$/))

const BlockId = Schema.Struct({ workchain: Schema.Literal(-1), seqno: Count, root_hash: Digest })
const TransactionId = Schema.Struct({ lt: WholeNumber, hash: Schema.String })
const AccountResponse = Schema.Struct({
  balance: Schema.Union([WholeNumber, Count]),
  state: Schema.Literals(["active", "uninitialized", "frozen"]),
  code: Schema.String,
  data: Schema.String,
  last_transaction_id: TransactionId,
  block_id: BlockId,
  sync_utime: Count
})
const GetResponse = Schema.Struct({
  exit_code: Schema.Int,
  stack: Schema.Array(Schema.Unknown),
  block_id: Schema.optionalKey(BlockId)
})
const HeadResponse = Schema.Struct({ init: Schema.Struct({ root_hash: Digest }) })
const ConfigResponse = Schema.Struct({ config: Schema.Struct({ bytes: Schema.String }) })
const TransactionResponse = Schema.Struct({ data: Schema.String, transaction_id: TransactionId })
const TransactionsResponse = Schema.Array(TransactionResponse)

/** The only shard of the masterchain. */
const masterchain = { workchain: -1, shard: "-9223372036854775808" }

const toHex = (base64: string): string => Buffer.from(base64, "base64").toString("hex")
const toBlock = ({ root_hash: hash, seqno }: typeof BlockId.Type): Block => ({ number: BigInt(seqno), hash })
const cellOf = (text: string): Cell | undefined => TonBoc.attempt(() => Cell.fromBase64(text))

const toAccount = (response: typeof AccountResponse.Type): Account | undefined => {
  const code = cellOf(response.code)
  const data = cellOf(response.data)
  if (response.state === "active" && (code === undefined || data === undefined)) return undefined
  const { hash, lt } = response.last_transaction_id
  return {
    state: response.state,
    balance: BigInt(response.balance),
    code,
    data,
    last: { lt: BigInt(lt), hash: toHex(hash) },
    head: { ...toBlock(response.block_id), time: response.sync_utime }
  }
}

/** Reads a transaction from its own bytes, whose hash must be the one that the node names. */
const toTransaction = ({ data, transaction_id: id }: typeof TransactionResponse.Type) => {
  const cell = cellOf(data)
  const read = cell && TonBoc.attempt(() => TonTransaction.read(cell))
  return read?.hash === toHex(id.hash) && `${read.lt}` === id.lt ? read : undefined
}

/** Makes requests with decoded responses. The node's error gives `undefined`, or `ChainUnavailable` where a result is required. */
const makeRequests = (request: TonJsonRpc.Request, network: string) => {
  const malformed = (method: string) =>
    Effect.fail(
      new ChainUnavailable({ network, message: `The node of ${network} returned a malformed response to ${method}` })
    )
  const optional = <S extends Schema.Codec<unknown, unknown>, A>(
    schema: S,
    convert: (response: S["Type"]) => A | undefined
  ) => {
    const decode = Schema.decodeUnknownOption(schema)
    return (method: string, params: Readonly<Record<string, unknown>>): Response<A | undefined> =>
      Effect.flatMap(request(method, params), (response): Response<A | undefined> => {
        if (Result.isFailure(response)) return Effect.undefined
        const decoded = Option.flatMapNullishOr(decode(response.success), convert)
        return Option.isNone(decoded) ? malformed(method) : Effect.succeed(decoded.value)
      })
  }
  const required = <S extends Schema.Codec<unknown, unknown>, A>(
    schema: S,
    convert: (response: S["Type"]) => A | undefined
  ) => {
    const send = optional(schema, convert)
    return (method: string, params: Readonly<Record<string, unknown>>): Response<A> =>
      Effect.flatMap(send(method, params), (result) =>
        result === undefined ? malformed(method) : Effect.succeed(result)
      )
  }
  return { optional, required }
}

/** Milliseconds that a head counts as the newest. */
const headMillis = 60_000

/** Remembers the newest head, and forgets it unless it is confirmed: one backend's wrong number must not last. */
const makeHeads = () => {
  let known = { number: 0n, at: 0 }
  const isExpired = (now: number) => now - known.at > headMillis
  return {
    newest: Effect.map(Clock.currentTimeMillis, (now) => (isExpired(now) ? 0n : known.number)),
    note: (number: bigint) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        if (number >= known.number || isExpired(at)) known = { number, at }
      })
  }
}

const fromRequest = (request: TonJsonRpc.Request, network: string): TonRpc => {
  const { optional, required } = makeRequests(request, network)
  const account = required(AccountResponse, toAccount)
  const get = required(GetResponse, ({ block_id: id, exit_code: exitCode, stack }): GetResult => {
    const at = id && BigInt(id.seqno)
    return exitCode === 0 || exitCode === 1
      ? { _tag: "Returned", stack: stack.map(TonStack.read), block: at }
      : { _tag: "Failed", exitCode, block: at }
  })
  const config = required(ConfigResponse, ({ config: { bytes } }) => cellOf(bytes))
  const zeroState = required(HeadResponse, ({ init }) => init.root_hash)
  const block = optional(BlockId, toBlock)
  const blockOf = (number: bigint) => optional(BlockId, (id) => (BigInt(id.seqno) === number ? toBlock(id) : undefined))
  const located = (isIt: (transaction: TonTransaction.TonTransaction) => boolean) =>
    optional(TransactionResponse, (response) => {
      const read = toTransaction(response)
      return read !== undefined && isIt(read) ? read : undefined
    })
  const history = (address: TonAddress.Address, from: TonTransaction.TonTransaction["previous"]) =>
    required(TransactionsResponse, (responses) => {
      const read = responses.map(toTransaction).filter((one) => one !== undefined)
      return read.length === responses.length && TonTransaction.isHistory(read, address, from) ? read : undefined
    })
  const heads = makeHeads()
  return {
    network,
    zeroState: zeroState("getMasterchainInfo", {}),
    config: config("getConfigAll", {}),
    newest: heads.newest,
    account: (address) =>
      Effect.tap(account("getAddressInformation", { address }), ({ head }) => heads.note(head.number)),
    get: (address, method, stack = []) =>
      Effect.tap(get("runGetMethod", { address, method, stack }), ({ block: at }) => heads.note(at ?? 0n)),
    block: (number) => blockOf(number)("lookupBlock", { ...masterchain, seqno: Number(number) }),
    blockAt: (lt) => block("lookupBlock", { ...masterchain, lt: `${lt}` }),
    transactions: (address, from, limit) =>
      history(address, from)("getTransactions", {
        address,
        limit,
        lt: `${from.lt}`,
        hash: from.hash,
        archival: false
      }),
    result: (source, destination, createdLt) =>
      located((found) => TonTransaction.isResult(found, source, destination, createdLt))("tryLocateResultTx", {
        source,
        destination,
        created_lt: `${createdLt}`
      }),
    origin: (source, destination, createdLt) =>
      located((found) => TonTransaction.isOrigin(found, source, destination, createdLt))("tryLocateSourceTx", {
        source,
        destination,
        created_lt: `${createdLt}`
      }),
    send: (boc) =>
      Effect.map(request("sendBoc", { boc }), (response): SendResult =>
        Result.isSuccess(response) ? { _tag: "Taken" } : { _tag: "Refused", message: response.failure }
      )
  }
}

/**
 * Makes the requests to one node. It sends nothing yet.
 *
 * @throws Misconfigured when the URL is not an HTTP URL.
 */
export const make = (options: TonJsonRpc.Options): Effect.Effect<TonRpc, Misconfigured> =>
  Effect.map(TonJsonRpc.make(options), (request) => fromRequest(request, options.network))
