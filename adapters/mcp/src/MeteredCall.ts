/**
 * A metered call as the paying client follows it: a stream of server-sent events, which begins when the server first asks for a
 * voucher. Each of the tool's progress notifications is an event, because it shows that something came.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { type Progress, ResultSchema } from "@modelcontextprotocol/sdk/types.js"
import { type HeaderFields, MetaPayer } from "@pontage/core"

import * as MeteredMeta from "./MeteredMeta.ts"

const urlHeader = "Payment-Voucher-Url"

/** Whether a response is the stream of a metered call. */
export const isStream = ({ headers }: Response): boolean => headers.has(urlHeader)

/** Whether a payment says that its payer sends further vouchers. */
export const follows = (meta: Readonly<Record<string, unknown>>): boolean =>
  fieldOf(fieldOf(meta[MetaPayer.metaPayer.paymentHeader], "payload"), "follows") === true

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined

/** Events that wait for the reader; a server that sends more has them dropped. */
const mostWaiting = 10_000

const utf8 = new TextEncoder()

/** The stream of one call. */
export class CallStream {
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #begin: ((head: Response) => void) | undefined
  readonly #body: ReadableStream<Uint8Array>
  /** Resolves when the server first asks for a voucher. */
  readonly head: Promise<Response>

  constructor() {
    this.#body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller
      },
      cancel: () => {
        this.#controller = undefined
      }
    })
    this.head = new Promise((resolve) => {
      this.#begin = resolve
    })
  }

  /** Takes a notification; whether it was the tool's, and not of the payment. */
  take(progress: Progress): boolean {
    const meta = fieldOf(progress, "_meta")
    const need = fieldOf(meta, MeteredMeta.needKey)
    if (need === undefined) {
      this.#put("data: progress\n\n")
      return true
    }
    this.#put(eventOf("payment-need-voucher", need))
    this.#begin?.(this.#head(meta))
    this.#begin = undefined
    return false
  }

  #head(meta: unknown): Response {
    const { headers } = MetaPayer.toResponse({ _meta: meta })
    headers.set(urlHeader, MeteredMeta.voucherMethod)
    headers.set("Content-Type", "text/event-stream")
    return new Response(this.#body, { headers })
  }

  /** Ends the stream with the receipt in a result. */
  end(result: MetaPayer.ToolResponse): void {
    const receipt = fieldOf(result._meta, MeteredMeta.receiptKey)
    if (receipt !== undefined) this.#put(eventOf("payment-receipt", receipt))
    this.#controller?.close()
    this.#controller = undefined
  }

  /** Breaks the stream off. */
  fail(error: unknown): void {
    this.#controller?.error(error)
    this.#controller = undefined
  }

  #put(event: string): void {
    const { desiredSize = 0 } = this.#controller ?? {}
    if ((desiredSize ?? 0) > -mostWaiting) this.#controller?.enqueue(utf8.encode(event))
  }
}

const eventOf = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

/** Reads a stream to its end. It breaks off with the call, whose own error says more. */
export const drain = async ({ body }: Response): Promise<void> => {
  const reader = body?.getReader()
  const next = () => reader?.read().catch(() => undefined)
  // oxlint-disable-next-line no-await-in-loop -- parts arrive one after another
  while ((await next())?.done === false) continue
}

/** Sends a voucher; the answer as a response. */
export const post = async (client: Client, headers: HeaderFields, signal: AbortSignal): Promise<Response> => {
  const params = { _meta: MetaPayer.metaOf(headers) }
  const answer = await client.request({ method: MeteredMeta.voucherMethod, params }, ResultSchema, { signal })
  const status = answer["status"]
  if (typeof status !== "number") throw new Error("the server answered a voucher without a status")
  return new Response(JSON.stringify(answer["body"]), { status })
}
