/**
 * The state of accounts, as a payer needs it too: an account, and a contract's get methods. A node shows the state that the
 * masterchain has committed, which is never reverted.
 */
import { type Block, ChainUnavailable, type Misconfigured, Shape } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Hex from "effect/encoding/Hex"
import * as Result from "effect/Result"

import type { Cell } from "#cells"

import type * as TonAddress from "../primitives/TonAddress.ts"
import * as TonBoc from "../primitives/TonBoc.ts"
import * as TonJsonRpc from "./TonJsonRpc.ts"
import * as TonStack from "./TonStack.ts"

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

type Response<A> = Effect.Effect<A, ChainUnavailable>

/** The requests for state. */
export interface TonState {
  readonly network: string
  /**
   * The newest masterchain block among the responses of the last minute; 0 without one. A backend with older responses is behind
   * the others: it does not know the state that they have shown.
   */
  readonly newest: Effect.Effect<bigint>
  readonly account: (address: TonAddress.Address) => Response<Account>
  readonly get: (
    address: TonAddress.Address,
    method: string,
    stack?: ReadonlyArray<TonStack.Argument>
  ) => Response<GetResult>
}

/** A hash of 32 bytes in base64. */
export const digest = /* @__PURE__ */ Shape.matching("32 bytes in base64", /^[A-Za-z0-9+/]{43}=$/)
const wholeNumber = /* @__PURE__ */ Shape.matching("a whole number as text", /^[0-9]{1,39}$/)

/** The name of a masterchain block. */
export interface BlockId {
  readonly workchain: -1
  readonly seqno: number
  readonly root_hash: string
}

/** Its shape. */
export const blockId = /* @__PURE__ */ Shape.struct<BlockId>({
  workchain: /* @__PURE__ */ Shape.oneOf([-1]),
  seqno: Shape.count,
  root_hash: digest
})

/** The name of a transaction. */
export interface TransactionId {
  readonly lt: string
  readonly hash: string
}

/** Its shape. */
export const transactionId = /* @__PURE__ */ Shape.struct<TransactionId>({ lt: wholeNumber, hash: Shape.text })

interface AccountResponse {
  readonly balance: string | number
  readonly state: Account["state"]
  readonly code: string
  readonly data: string
  readonly last_transaction_id: TransactionId
  readonly block_id: BlockId
  readonly sync_utime: number
}

const accountResponse = /* @__PURE__ */ Shape.struct<AccountResponse>({
  balance: /* @__PURE__ */ Shape.either(wholeNumber, Shape.count),
  state: /* @__PURE__ */ Shape.oneOf(["active", "uninitialized", "frozen"]),
  code: Shape.text,
  data: Shape.text,
  last_transaction_id: transactionId,
  block_id: blockId,
  sync_utime: Shape.count
})

interface GetResponse {
  readonly exit_code: number
  readonly stack: ReadonlyArray<unknown>
  readonly block_id?: BlockId
}

const getResponse = /* @__PURE__ */ Shape.struct<GetResponse>({
  exit_code: Shape.int,
  stack: /* @__PURE__ */ Shape.list(Shape.json),
  block_id: /* @__PURE__ */ Shape.optional(blockId)
})

/** Bytes in base64 as hexadecimal digits; empty for another text. */
export const toHex = (base64: string): string =>
  Result.match(Base64.decode(base64), { onSuccess: Hex.encode, onFailure: () => "" })

/** The block of a name. */
export const toBlock = ({ root_hash: hash, seqno }: BlockId): Block => ({ number: BigInt(seqno), hash })
const toAccount = (response: AccountResponse): Account | undefined => {
  const code = TonBoc.fromNode(response.code)
  const data = TonBoc.fromNode(response.data)
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

/** Makes requests with decoded responses. The node's error gives `undefined`, or `ChainUnavailable` where a result is required. */
export const makeRequests = (request: TonJsonRpc.Request, network: string) => {
  const malformed = (method: string) =>
    Effect.fail(
      new ChainUnavailable({ network, message: `The node of ${network} returned a malformed response to ${method}` })
    )
  const optional =
    <R, A>(shape: Shape.Shape<R>, convert: (response: R) => A | undefined) =>
    (method: string, params: Readonly<Record<string, unknown>>): Response<A | undefined> =>
      Effect.flatMap(request(method, params), (response): Response<A | undefined> => {
        if (Result.isFailure(response)) return Effect.undefined
        const found = Shape.read(shape, response.success)
        const value = Result.isSuccess(found) ? convert(found.success) : undefined
        return value === undefined ? malformed(method) : Effect.succeed(value)
      })
  const required = <R, A>(shape: Shape.Shape<R>, convert: (response: R) => A | undefined) => {
    const send = optional(shape, convert)
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

/** The requests for state, by a way to send one. */
export const fromRequest = (request: TonJsonRpc.Request, network: string): TonState => {
  const { required } = makeRequests(request, network)
  const account = required(accountResponse, toAccount)
  const get = required(getResponse, ({ block_id: id, exit_code: exitCode, stack }): GetResult => {
    const at = id && BigInt(id.seqno)
    return exitCode === 0 || exitCode === 1
      ? { _tag: "Returned", stack: stack.map(TonStack.read), block: at }
      : { _tag: "Failed", exitCode, block: at }
  })
  const heads = makeHeads()
  return {
    network,
    newest: heads.newest,
    account: (address) =>
      Effect.tap(account("getAddressInformation", { address }), ({ head }) => heads.note(head.number)),
    get: (address, method, stack = []) =>
      Effect.tap(get("runGetMethod", { address, method, stack }), ({ block: at }) => heads.note(at ?? 0n))
  }
}

/**
 * Makes the requests for state to one node. It sends nothing yet.
 *
 * @throws Misconfigured when the URL is not an HTTP URL.
 */
export const make = (options: TonJsonRpc.Options): Effect.Effect<TonState, Misconfigured> =>
  Effect.map(TonJsonRpc.make(options), (request) => fromRequest(request, options.network))
