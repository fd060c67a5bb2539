/**
 * One call of a tool taken apart: what is sent first, exactly as the caller wrote it, and what the paid call repeats.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { ErrorCode } from "@modelcontextprotocol/sdk/types.js"
import { CanonicalText, MetaPayer, NoAnswer, type PayableRequest } from "@pontage/core"
import * as Effect from "effect/Effect"

/** What `Client.callTool` is called with. */
export type CallParameters = Parameters<Client["callTool"]>

/** What it resolves with. */
export type CallResult = Awaited<ReturnType<Client["callTool"]>>

/** A call, ready to be sent and to be repeated. */
export interface OutgoingCall {
  /** Whether the caller sends a payment of its own, and so handles the refusal too. */
  readonly isPaid: boolean
  readonly signal: AbortSignal | undefined
  /** Sends what the caller asked for. Rejects as `Client.callTool` does. */
  readonly sendUnpaid: () => Promise<Response>
  /** The same call for the paying client; the server is at `address`. */
  readonly payable: (address: URL) => PayableRequest
  /** What `Client.callTool` would have made of an answer to this call: it returns or throws that. */
  readonly outcomeOf: (response: Response) => CallResult
}

/** What a call came to. A result that is not of the tool's output schema is there beside the SDK's error. */
type Outcome = { readonly result: CallResult; readonly error?: unknown } | { readonly error: unknown }

/**
 * Takes a call apart, with its arguments as they are now: a caller that changes them afterwards must not send a payment with
 * other ones.
 */
export const make = (client: Client, [params, schema, options]: CallParameters): OutgoingCall => {
  const outcomes = new WeakMap<Response, Outcome>()
  const kept = params.arguments === undefined ? params : { ...params, arguments: structuredClone(params.arguments) }
  const send = async (sent: CallParameters[0]): Promise<Response> => {
    const outcome = await call(client, [sent, schema, options])
    const response = "result" in outcome ? MetaPayer.toResponse(outcome.result) : new Response(null, { status: 500 })
    outcomes.set(response, outcome)
    return response
  }
  return {
    isPaid: Object.hasOwn(params._meta ?? {}, MetaPayer.metaPayer.paymentHeader),
    signal: options?.signal,
    sendUnpaid: () => send(params),
    payable: ({ href }) => ({
      method: `tools/call ${params.name}`,
      url: href,
      body: Effect.sync(() => new TextEncoder().encode(textOf(kept))),
      send: (_url, headers) =>
        Effect.tryPromise({
          try: () => send({ ...kept, _meta: { ...kept._meta, ...MetaPayer.metaOf(headers) } }),
          catch: (cause) => new NoAnswer({ cause })
        })
    }),
    outcomeOf: (response) => {
      const outcome = outcomes.get(response) ?? { error: new Error("an answer that is of another call") }
      if ("error" in outcome) throw outcome.error
      return outcome.result
    }
  }
}

/** The arguments as they travel. */
const textOf = ({ arguments: given = {}, name }: CallParameters[0]): string => {
  const json = JSON.stringify([name, given])
  return CanonicalText.of(JSON.parse(json)) ?? json
}

/**
 * The SDK holds every result with structured content against the tool's output schema, a payment request too, and then
 * throws it away. So its `callTool` runs over a request that keeps what came, and hides from it what is a payment request.
 */
const call = async (client: Client, parameters: CallParameters): Promise<Outcome> => {
  let came: CallResult | undefined
  const listener: Client = Object.create(client, {
    request: {
      value: async (...request: Parameters<Client["request"]>) => {
        const result: CallResult = await client.request(...request)
        came = result
        return MetaPayer.requestIn(result) === undefined ? result : { ...result, structuredContent: undefined }
      }
    }
  })
  try {
    const result = await listener.callTool(...parameters)
    return { result: came ?? result }
  } catch (error) {
    if (came !== undefined) return { result: came, error }
    if (isAnswer(error)) return { error }
    throw error
  }
}

const silences: ReadonlySet<number> = new Set([ErrorCode.RequestTimeout, ErrorCode.ConnectionClosed])

/** Whether an error is the server's word, and not that there was none. By its name: a program may hold two copies of the SDK. */
const isAnswer = (error: unknown): boolean =>
  error instanceof Error &&
  error.name === "McpError" &&
  "code" in error &&
  typeof error.code === "number" &&
  !silences.has(error.code)
