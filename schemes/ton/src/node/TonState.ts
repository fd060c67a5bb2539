/**
 * The state of accounts, as a payer needs it too: an account, and a contract's get methods. A node shows the state that the
 * masterchain has committed, which is never reverted.
 */
import { type Block, ChainUnavailable, type Misconfigured } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Hex from "effect/encoding/Hex"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

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

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
/** A hash of 32 bytes in base64. */
export const Digest = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+/]{43}=$/))
const WholeNumber = Schema.String.check(Schema.isPattern(/^[0-9]{1,39}$/))

/** The name of a masterchain block. */
export const BlockId = Schema.Struct({ workchain: Schema.Literal(-1), seqno: Count, root_hash: Digest })
/** The name of a transaction. */
export const TransactionId = Schema.Struct({ lt: WholeNumber, hash: Schema.String })
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
/** Bytes in base64 as hexadecimal digits; empty for another text. */
export const toHex = (base64: string): string =>
  Result.match(Base64.decode(base64), { onSuccess: Hex.encode, onFailure: () => "" })

/** The block of a name. */
export const toBlock = ({ root_hash: hash, seqno }: typeof BlockId.Type): Block => ({ number: BigInt(seqno), hash })
const toAccount = (response: typeof AccountResponse.Type): Account | undefined => {
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

/** The requests for state, by a way to send one. */
export const fromRequest = (request: TonJsonRpc.Request, network: string): TonState => {
  const { required } = makeRequests(request, network)
  const account = required(AccountResponse, toAccount)
  const get = required(GetResponse, ({ block_id: id, exit_code: exitCode, stack }): GetResult => {
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
