/**
 * A tool's call in the gate's form. A payment is bound to the shop's origin, the tool's name and the call's arguments
 * as sent; a price is computed from the tool's own arguments, after its schema.
 */
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js"
import type { CallToolResult, ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js"
import { CanonicalText, type GateRequest, Hash, MetaSeller, MppMetaSeller } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"

/** The SDK's second argument of a tool. */
export type ToolExtra = RequestHandlerExtra<ServerRequest, ServerNotification>

/** A call that can be decided and run. */
export interface ToolCall {
  readonly name: string
  /** The tool's arguments; `undefined` if it takes none. */
  readonly arguments: unknown
  /** The arguments as sent, before the tool's schema reads them. */
  readonly sent: unknown
  readonly extra: ToolExtra
  /** Runs the tool. */
  readonly run: () => Promise<CallToolResult>
}

/** The keys of `_meta` that carry a payment. */
const paymentKeys = [MetaSeller.metaSeller.paymentHeader, MppMetaSeller.mppMetaSeller.paymentHeader]

/** The target of a tool in its shop. */
export const targetOf = (name: string): string => `/tools/${encodeURIComponent(name)}`

/**
 * The call in the gate's form. `undefined` if its arguments have no unique text, so that a payment could not be bound
 * to them.
 */
export const toRequest = async (call: ToolCall): Promise<GateRequest | undefined> => {
  const text = CanonicalText.of(carried(call.sent))
  if (text === undefined) return undefined
  const { extra } = call
  return {
    method: "tools/call",
    target: targetOf(call.name),
    header: MetaSeller.headersIn(extra._meta, paymentKeys),
    headers: extra.requestInfo?.headers ?? {},
    params: {},
    query: {},
    body: call.arguments,
    bodyDigest: await Effect.runPromise(digestOf(text)),
    native: extra
  }
}

/** Arguments as JSON carries them; a transport in memory passes on what its caller made them from, and what JSON cannot write. */
const carried = (sent: unknown): unknown => {
  try {
    return JSON.parse(JSON.stringify(sent))
  } catch {
    return sent
  }
}

const digestOf = Effect.fnUntraced(function* (text: string) {
  const hash = yield* Hash.Hash
  return Base64Url.encode(yield* hash.sha256(new TextEncoder().encode(text)))
})
