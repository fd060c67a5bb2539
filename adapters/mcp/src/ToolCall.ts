/**
 * A call of a tool in the gate's words. What a payment is bound to is the shop's origin, the tool's name and the call's
 * arguments, as they travelled; a price is computed from what the tool's schema has made of them, as the tool gets it.
 */
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js"
import type { CallToolResult, ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js"
import { CanonicalText, type GateRequest, Hash, MetaSeller } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"

/** What the SDK hands to a tool beside the arguments. */
export type ToolExtra = RequestHandlerExtra<ServerRequest, ServerNotification>

/** A call, ready to be decided and to be run. */
export interface ToolCall {
  readonly name: string
  /** `undefined` where the tool takes none. */
  readonly arguments: unknown
  /** As they came, before the tool's schema has read them. */
  readonly sent: unknown
  readonly extra: ToolExtra
  /** Runs the tool. */
  readonly run: () => Promise<CallToolResult>
}

/** Where a tool stands in its shop. */
export const targetOf = (name: string): string => `/tools/${encodeURIComponent(name)}`

/**
 * The call as the gate sees it. `undefined` where its arguments cannot be told from others, so that a payment could not be
 * bound to them.
 */
export const toRequest = async (call: ToolCall): Promise<GateRequest | undefined> => {
  const text = CanonicalText.of(call.sent)
  if (text === undefined) return undefined
  const { extra } = call
  return {
    method: "tools/call",
    target: targetOf(call.name),
    header: MetaSeller.headersIn(extra._meta),
    headers: extra.requestInfo?.headers ?? {},
    params: {},
    query: {},
    body: call.arguments,
    bodyDigest: await Effect.runPromise(digestOf(text)),
    native: extra
  }
}

const digestOf = Effect.fnUntraced(function* (text: string) {
  const hash = yield* Hash.Hash
  return Base64Url.encode(yield* hash.sha256(new TextEncoder().encode(text)))
})
