/** One call of a tool: the first call, exactly as the caller wrote it, and the paid repetition. */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { ErrorCode, type Progress } from "@modelcontextprotocol/sdk/types.js"
import {
  CanonicalText,
  type HeaderFields,
  MetaPayer,
  MppMetaPayer,
  NoResponse,
  type PayableRequest,
  type PayerDialect
} from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as CallLimit from "./CallLimit.ts"
import * as MeteredCall from "./MeteredCall.ts"

/** The parameters of `Client.callTool`. */
export type CallParameters = Parameters<Client["callTool"]>

/** The result of `Client.callTool`. */
export type CallResult = Awaited<ReturnType<Client["callTool"]>>

/** A call that can be sent and repeated. */
export interface OutgoingCall {
  /** Whether the caller sends a payment of its own, and so handles the refusal itself. */
  readonly isPaid: boolean
  /** Is aborted by the caller, and with the error of a paid request that ends the call. */
  readonly signal: AbortSignal
  /** Sends the caller's request. Rejects as `Client.callTool` does. */
  readonly sendUnpaid: () => Promise<Response>
  /** The same call for the paying client; the server is at `address`. */
  readonly payable: (address: URL) => PayableRequest
  /**
   * The result that `Client.callTool` would have given for a response to this call, or its rejection. A metered call is followed to
   * its end.
   */
  readonly outcomeOf: (response: Response) => Promise<CallResult>
}

/** The result of a call. A result that violates the tool's output schema is kept beside the SDK's error. */
type CallOutcome = { readonly result: CallResult; readonly error?: unknown } | { readonly error: unknown }

/**
 * Prepares a call, with a copy of its current arguments: a caller that changes them later must not send a payment with
 * other ones.
 */
export const make = (client: Client, [params, schema, options]: CallParameters): OutgoingCall => {
  const outcomes = new WeakMap<Response, CallOutcome>()
  const copy = copied(params)
  const limit = new CallLimit.CallLimit(options)
  const over = new AbortController()
  let running: Promise<Response> | undefined
  const send = async (sent: CallParameters[0], given = options, stream?: MeteredCall.CallStream): Promise<Response> => {
    const outcome = await call(client, [sent, schema, given])
    stream?.end("result" in outcome ? outcome.result : {})
    const response = "result" in outcome ? responseOf(outcome.result) : responseOfError(outcome.error)
    outcomes.set(response, outcome)
    return response
  }
  /** Sends a call whose payer follows it: its response is a stream once the server asks for a voucher. */
  const sendFollowed = (sent: CallParameters[0], given: CallParameters[2]): Promise<Response> => {
    const stream = new MeteredCall.CallStream()
    const onprogress = (progress: Progress) => {
      if (stream.take(progress)) options?.onprogress?.(progress)
    }
    running = send(sent, { ...given, onprogress }, stream)
    running.catch((error: unknown) => stream.fail(error))
    return Promise.race([stream.head, running])
  }
  const sendPaid = async (kept: CallParameters[0], headers: HeaderFields, now: number): Promise<Response> => {
    const meta = MetaPayer.metaOf(headers)
    const sent = { ...kept, _meta: { ...kept._meta, ...meta } }
    // One without a payment only asks again, before a purchase begins.
    const given = Object.keys(meta).length === 0 ? options : limit.at(now)
    return MeteredCall.follows(meta) ? sendFollowed(sent, given) : send(sent, given)
  }
  const noResponse = (cause: unknown): NoResponse => {
    if (CallLimit.isOver(cause)) over.abort(cause)
    return new NoResponse({ cause })
  }
  return {
    isPaid: dialects.some(({ paymentHeader }) => Object.hasOwn(params._meta ?? {}, paymentHeader)),
    signal: AbortSignal.any([...(options?.signal === undefined ? [] : [options.signal]), over.signal]),
    sendUnpaid: () => send(params),
    payable: ({ href }) => {
      const kept = copy()
      return {
        method: `tools/call ${params.name}`,
        url: href,
        body: Effect.sync(() => new TextEncoder().encode(textOf(kept))),
        send: (_url, headers) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            Effect.tryPromise({ try: () => sendPaid(kept, headers, now), catch: noResponse })
          ),
        post: (_url, headers) =>
          Effect.tryPromise({
            try: (signal) => MeteredCall.post(client, headers, signal),
            catch: (cause) => new NoResponse({ cause })
          })
      }
    },
    outcomeOf: async (response) => {
      const isStream = MeteredCall.isStream(response)
      if (isStream) await MeteredCall.drain(response)
      const outcome = outcomes.get((isStream && (await running)) || response) ?? {
        error: new Error("a response to another call")
      }
      if ("error" in outcome) throw outcome.error
      return outcome.result
    }
  }
}

/**
 * The parameters with a copy of the arguments as JSON has them, which is what leaves without a payment too. A transport in memory takes
 * what JSON cannot write; then the copy is missed only by a payment.
 */
const copied = ({ arguments: given, ...rest }: CallParameters[0]): (() => CallParameters[0]) => {
  try {
    const copy: CallParameters[0] = { ...rest, ...JSON.parse(JSON.stringify({ arguments: given })) }
    return () => copy
  } catch (cause) {
    return () => {
      throw new TypeError(`${rest.name} was not paid for: JSON cannot write its arguments; call it with plain values`, {
        cause
      })
    }
  }
}

/** The protocols of payments over MCP, the preferred one first. */
export const dialects: ReadonlyArray<PayerDialect> = [MetaPayer.metaPayer, MppMetaPayer.mppMetaPayer]

/** A result as a response. One that demands a payment in both protocols is read as x402's; one with a receipt demands none. */
const responseOf = (result: CallResult): Response => {
  const receipts = MppMetaPayer.receiptHeaders(result._meta)
  const isOpen = Object.keys(receipts).length === 0 && MetaPayer.receiptOf(result) === undefined
  const required =
    isOpen && MetaPayer.requestIn(result) === undefined ? MppMetaPayer.fromResult(result._meta) : undefined
  return required ?? MetaPayer.toResponse(result, receipts)
}

const responseOfError = (error: unknown): Response =>
  (error instanceof Error ? MppMetaPayer.fromError(error) : undefined) ?? new Response(null, { status: 500 })

/** The arguments in their wire form. */
const textOf = ({ arguments: given = {}, name }: CallParameters[0]): string => {
  const json = JSON.stringify([name, given])
  return CanonicalText.of(JSON.parse(json)) ?? json
}

/**
 * Runs the SDK's `callTool` over a request that keeps the raw result and hides payment requests from it: the SDK checks
 * every result with structured content against the tool's output schema, a payment request too, and drops those that
 * violate it.
 */
const call = async (client: Client, parameters: CallParameters): Promise<CallOutcome> => {
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

/**
 * Whether an error is the server's response, and not a missing one. Compared by its name, because a program may hold
 * two copies of the SDK.
 */
const isAnswer = (error: unknown): boolean =>
  error instanceof Error &&
  error.name === "McpError" &&
  "code" in error &&
  typeof error.code === "number" &&
  !silences.has(error.code)
