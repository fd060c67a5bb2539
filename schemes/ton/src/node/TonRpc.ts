/**
 * The few questions this package asks a node, in the dialect of toncenter's API (v2), each answer decoded by a schema. A
 * node shows what the masterchain has taken in, which is never taken back.
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

/** How a get method ended: its stack, or why there is none. */
export type Got = (
  | { readonly _tag: "Returned"; readonly stack: ReadonlyArray<TonStack.Item> }
  /** The contract does not have it, or it failed; or there is no contract. */
  | { readonly _tag: "Failed"; readonly exitCode: number }
) & {
  /** The masterchain's block that it was run as of; `undefined` where the node does not say. */
  readonly block: bigint | undefined
}

/** What the node said of a message. */
export type Sending = { readonly _tag: "Taken" } | { readonly _tag: "Refused"; readonly message: string }

type Asked<A> = Effect.Effect<A, ChainUnavailable>

/** The questions. */
export interface TonRpc {
  readonly network: string
  /** What tells a chain from all others: the root hash of its beginning, base64. */
  readonly zeroState: Asked<string>
  /**
   * The newest masterchain block that an answer was of in the last minute; 0 where there was none. A backend whose answers are
   * older has fallen behind its fellows: it knows nothing of what they have shown.
   */
  readonly newest: Effect.Effect<bigint>
  /** The chain's configuration: prices and limits. */
  readonly config: Asked<Cell>
  readonly account: (address: TonAddress.Address) => Asked<Account>
  readonly get: (address: TonAddress.Address, method: string, stack?: ReadonlyArray<TonStack.Argument>) => Asked<Got>
  /** The masterchain's block of this number; `undefined` where the node knows none. */
  readonly block: (number: bigint) => Asked<Block | undefined>
  /** The masterchain's block that was current at this logical time. */
  readonly blockAt: (lt: bigint) => Asked<Block | undefined>
  /** An account's transactions from this one on, newest first, at least that one, without a gap. */
  readonly transactions: (
    address: TonAddress.Address,
    from: { readonly lt: bigint; readonly hash: string },
    limit: number
  ) => Asked<ReadonlyArray<TonTransaction.TonTransaction>>
  /** The transaction that exactly this message caused; `undefined` while there is none. Another one is no answer. */
  readonly result: (
    source: TonAddress.Address,
    destination: TonAddress.Address,
    createdLt: bigint
  ) => Asked<TonTransaction.TonTransaction | undefined>
  /** The transaction that sent exactly this message. */
  readonly origin: (
    source: TonAddress.Address,
    destination: TonAddress.Address,
    createdLt: bigint
  ) => Asked<TonTransaction.TonTransaction | undefined>
  /** Sends an external message: a bag of cells in base64. */
  readonly send: (boc: string) => Asked<Sending>
}

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Digest = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+/]{43}=$/))
const WholeNumber = Schema.String.check(Schema.isPattern(/^[0-9]{1,39}$/))

const BlockId = Schema.Struct({ workchain: Schema.Literal(-1), seqno: Count, root_hash: Digest })
const TransactionId = Schema.Struct({ lt: WholeNumber, hash: Schema.String })
const AccountAnswer = Schema.Struct({
  balance: Schema.Union([WholeNumber, Count]),
  state: Schema.Literals(["active", "uninitialized", "frozen"]),
  code: Schema.String,
  data: Schema.String,
  last_transaction_id: TransactionId,
  block_id: BlockId,
  sync_utime: Count
})
const GetAnswer = Schema.Struct({
  exit_code: Schema.Int,
  stack: Schema.Array(Schema.Unknown),
  block_id: Schema.optionalKey(BlockId)
})
const HeadAnswer = Schema.Struct({ init: Schema.Struct({ root_hash: Digest }) })
const ConfigAnswer = Schema.Struct({ config: Schema.Struct({ bytes: Schema.String }) })
const TransactionAnswer = Schema.Struct({ data: Schema.String, transaction_id: TransactionId })
const TransactionsAnswer = Schema.Array(TransactionAnswer)

/** The masterchain is one shard. */
const masterchain = { workchain: -1, shard: "-9223372036854775808" }

const toHex = (base64: string): string => Buffer.from(base64, "base64").toString("hex")
const toBlock = ({ root_hash: hash, seqno }: typeof BlockId.Type): Block => ({ number: BigInt(seqno), hash })
const cellOf = (text: string): Cell | undefined => TonBoc.attempt(() => Cell.fromBase64(text))

const toAccount = (answer: typeof AccountAnswer.Type): Account | undefined => {
  const code = cellOf(answer.code)
  const data = cellOf(answer.data)
  if (answer.state === "active" && (code === undefined || data === undefined)) return undefined
  const { hash, lt } = answer.last_transaction_id
  return {
    state: answer.state,
    balance: BigInt(answer.balance),
    code,
    data,
    last: { lt: BigInt(lt), hash: toHex(hash) },
    head: { ...toBlock(answer.block_id), time: answer.sync_utime }
  }
}

/** A transaction is believed by its own bytes, which have to hash to its name. */
const toTransaction = ({ data, transaction_id: id }: typeof TransactionAnswer.Type) => {
  const cell = cellOf(data)
  const read = cell && TonBoc.attempt(() => TonTransaction.read(cell))
  return read?.hash === toHex(id.hash) && `${read.lt}` === id.lt ? read : undefined
}

/** Asks, and holds the answer against its shape. A refusal is nothing, unless it is asked for. */
const makeQuestions = (ask: TonJsonRpc.Ask, network: string) => {
  const nonsense = (method: string) =>
    Effect.fail(
      new ChainUnavailable({ network, message: `The node of ${network}, asked for ${method}, answered something else` })
    )
  const optional = <S extends Schema.Codec<unknown, unknown>, A>(
    schema: S,
    convert: (answer: S["Type"]) => A | undefined
  ) => {
    const decode = Schema.decodeUnknownOption(schema)
    return (method: string, params: Readonly<Record<string, unknown>>): Asked<A | undefined> =>
      Effect.flatMap(ask(method, params), (answer): Asked<A | undefined> => {
        if (Result.isFailure(answer)) return Effect.undefined
        const decoded = Option.flatMapNullishOr(decode(answer.success), convert)
        return Option.isNone(decoded) ? nonsense(method) : Effect.succeed(decoded.value)
      })
  }
  const required = <S extends Schema.Codec<unknown, unknown>, A>(
    schema: S,
    convert: (answer: S["Type"]) => A | undefined
  ) => {
    const question = optional(schema, convert)
    return (method: string, params: Readonly<Record<string, unknown>>): Asked<A> =>
      Effect.flatMap(question(method, params), (answer) =>
        answer === undefined ? nonsense(method) : Effect.succeed(answer)
      )
  }
  return { optional, required }
}

/** How long a head counts as the newest, in milliseconds. */
const headMillis = 60_000

/** Remembers the newest head. It is forgotten where nothing confirms it: one backend's nonsense must not last. */
const makeHeads = () => {
  let known = { number: 0n, at: 0 }
  const isOver = (now: number) => now - known.at > headMillis
  return {
    newest: Effect.map(Clock.currentTimeMillis, (now) => (isOver(now) ? 0n : known.number)),
    note: (number: bigint) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        if (number >= known.number || isOver(at)) known = { number, at }
      })
  }
}

const makeShape = (ask: TonJsonRpc.Ask, network: string): TonRpc => {
  const { optional, required } = makeQuestions(ask, network)
  const account = required(AccountAnswer, toAccount)
  const get = required(GetAnswer, ({ block_id: id, exit_code: exitCode, stack }): Got => {
    const at = id && BigInt(id.seqno)
    return exitCode === 0 || exitCode === 1
      ? { _tag: "Returned", stack: stack.map(TonStack.read), block: at }
      : { _tag: "Failed", exitCode, block: at }
  })
  const config = required(ConfigAnswer, (answer) => cellOf(answer.config.bytes))
  const zeroState = required(HeadAnswer, ({ init }) => init.root_hash)
  const block = optional(BlockId, toBlock)
  const blockOf = (number: bigint) => optional(BlockId, (id) => (BigInt(id.seqno) === number ? toBlock(id) : undefined))
  const located = (isIt: (transaction: TonTransaction.TonTransaction) => boolean) =>
    optional(TransactionAnswer, (answer) => {
      const read = toTransaction(answer)
      return read !== undefined && isIt(read) ? read : undefined
    })
  const history = (address: TonAddress.Address, from: TonTransaction.TonTransaction["previous"]) =>
    required(TransactionsAnswer, (answers) => {
      const read = answers.map(toTransaction).filter((one) => one !== undefined)
      return read.length === answers.length && TonTransaction.isHistory(read, address, from) ? read : undefined
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
      Effect.map(ask("sendBoc", { boc }), (answer): Sending =>
        Result.isSuccess(answer) ? { _tag: "Taken" } : { _tag: "Refused", message: answer.failure }
      )
  }
}

/**
 * Makes the questions to one node. Nothing is asked yet.
 *
 * @throws Misconfigured when the URL is not one of HTTP.
 */
export const make = (options: TonJsonRpc.Options): Effect.Effect<TonRpc, Misconfigured> =>
  Effect.map(TonJsonRpc.make(options), (ask) => makeShape(ask, options.network))
