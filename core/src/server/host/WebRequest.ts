/** A `Request` of the web platform in the gate's form, and the facts about its caller that runtimes give beside it. */
import * as BoundedBody from "../../wire/http/BoundedBody.ts"
import type { GateRequest } from "../http/Decision.ts"

/** The facts about a request that only its host knows. */
export interface WebFacts extends Partial<Pick<GateRequest, "params" | "query" | "pattern" | "rawBody" | "body">> {
  readonly clientAddress?: string | undefined
  /** The body that a parser in front of the gate has read, where the host keeps it. */
  readonly readBefore?: () => Promise<Uint8Array | undefined>
}

/** A request for the gate. The target is that of the request's URL, whose host is ignored. */
export class WebRequest implements GateRequest {
  readonly native: Request
  readonly method: string
  readonly #facts: WebFacts
  readonly #beside: ReadonlyArray<unknown>

  /** `beside` holds the host's own means. */
  constructor(request: Request, facts: WebFacts, beside: ReadonlyArray<unknown> = []) {
    this.native = request
    this.method = request.method.toUpperCase()
    this.#facts = facts
    this.#beside = beside
  }

  /** `Headers` joins the values of a repeated header; two payments in one text are no payment in any wire format. */
  readonly header: GateRequest["header"] = (name) => this.native.headers.get(name) ?? undefined

  get target(): string {
    return this.native.url
  }

  get headers(): GateRequest["headers"] {
    return Object.fromEntries(this.native.headers)
  }

  get params(): GateRequest["params"] {
    return this.#facts.params ?? {}
  }

  get query(): GateRequest["query"] {
    return this.#facts.query ?? listed(new URL(this.native.url).searchParams)
  }

  get body(): unknown {
    return this.#facts.body
  }

  get rawBody(): GateRequest["rawBody"] {
    return this.#facts.rawBody
  }

  get pattern(): string {
    return this.#facts.pattern ?? ""
  }

  get clientAddress(): string | undefined {
    return this.#facts.clientAddress ?? addressIn(this.native, this.#beside)
  }

  /** A body that was read before comes from its host, if that keeps it. */
  readonly copy: NonNullable<GateRequest["copy"]> = async (maximumBytes) => {
    if (this.native.bodyUsed) return this.#facts.readBefore?.().catch(() => undefined)
    const { body } = this.native.clone()
    return body === null ? new Uint8Array() : firstBytes(body, maximumBytes)
  }
}

/** The values of a query by name: a text, or the list of a repeated name's texts. */
const listed = (query: URLSearchParams): Record<string, string | ReadonlyArray<string>> => {
  const values = new Map<string, string | ReadonlyArray<string>>()
  for (const [name, value] of query) {
    const known = values.get(name)
    values.set(name, known === undefined ? value : [known, value].flat())
  }
  return Object.fromEntries(values)
}

/** Rejects if the body breaks off. */
const firstBytes = async (body: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array> => {
  const reader = body.getReader()
  const chunks: Array<Uint8Array> = []
  let length = 0
  while (length < limit) {
    // oxlint-disable-next-line no-await-in-loop -- chunks arrive one after another
    const { done, value } = await reader.read()
    if (done) break
    length += value.byteLength
    chunks.push(value)
  }
  if (length >= limit) void reader.cancel().catch(() => undefined)
  return BoundedBody.join(chunks, length)
}

/**
 * The address of the connection, as runtimes give it beside the request: Bun's server, Deno's connection, the bindings of
 * Hono on Node. `undefined` elsewhere, where the option `clientAddress` reads the header of the platform.
 */
export const addressIn = (request: Request, beside: ReadonlyArray<unknown>): string | undefined => {
  for (const one of beside) {
    if (typeof one !== "object" || one === null) continue
    const address =
      textIn(call(one, "requestIP", request), "address") ??
      textIn(memberOf(one, "remoteAddr"), "hostname") ??
      textIn(memberOf(memberOf(one, "incoming"), "socket"), "remoteAddress")
    if (address !== undefined) return address
  }
  return undefined
}

/**
 * Keeps the process alive for work that goes on behind a response; `undefined` where the runtime has no means for that, as Workers have.
 */
export const keeperIn = (beside: ReadonlyArray<unknown>): ((work: Promise<unknown>) => void) | undefined => {
  const context = beside.find((one) => typeof memberOf(one, "waitUntil") === "function")
  return context === undefined ? undefined : (work) => void call(context, "waitUntil", work)
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined

const call = (value: unknown, name: string, argument: unknown): unknown => {
  const member = memberOf(value, name)
  return typeof member === "function" ? Reflect.apply(member, value, [argument]) : undefined
}

const textIn = (value: unknown, name: string): string | undefined => {
  const text = memberOf(value, name)
  return typeof text === "string" ? text : undefined
}
