/**
 * A facilitator that speaks x402 alone, over real HTTP on loopback, and a chain of nonces behind it. It is honest until a
 * test tells it what to do with the next call: answer late, drop it, lie.
 */
import type { ServerResponse } from "node:http"

import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as FacilitatorStub from "./FacilitatorStub.ts"

const Asked = Schema.Struct({
  x402Version: Schema.Literals([1, 2]),
  paymentPayload: Schema.Struct({
    payload: Schema.Struct({ payer: Schema.String, nonce: Schema.String })
  }),
  paymentRequirements: Schema.Struct({ network: Schema.String })
})
const decodeAsked = Schema.decodeUnknownSync(Schema.fromJsonString(Asked))

/** The treatment of one call; `honest` does what an honest facilitator does and returns its response. */
export type Deed = (response: ServerResponse, honest: () => unknown) => void

const answer = (response: ServerResponse, body: unknown, status = 200): void => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}

/** Answers this, and does nothing. */
export const says =
  (body: unknown, status = 200): Deed =>
  (response) =>
    answer(response, body, status)

/** Does what it should, and sends this all the same. */
export const doesAndSays =
  (body: unknown, status = 200): Deed =>
  (response, honest) => {
    honest()
    answer(response, body, status)
  }

/** Does what it should, and the connection breaks before the response. */
export const drops: Deed = (response, honest) => {
  honest()
  response.destroy()
}

/** The connection breaks before anything is done. */
export const dropsUndone: Deed = (response) => void response.destroy()

/** Never answers; what was asked for is done all the same. */
export const hangs: Deed = (_, honest) => void honest()

/** Answers when it is let. */
export const waits =
  (gate: Deferred.Deferred<void>): Deed =>
  (response, honest) =>
    void Effect.runPromise(Deferred.await(gate)).then(() => answer(response, honest()))

/** A refusal of a settlement. */
export const refuses = (errorReason: string, more: Record<string, unknown> = {}) => ({
  success: false,
  errorReason,
  transaction: "",
  network: "ledger:test",
  ...more
})

export const kind = { x402Version: 2, scheme: "exact", network: "ledger:test" }

export interface X402FacilitatorStub {
  readonly url: string
  readonly seen: FacilitatorStub.FacilitatorStub["seen"]
  /** Deeds for the next calls to `/settle` and to `/verify`. */
  readonly settles: Array<Deed>
  readonly verifies: Array<Deed>
  /** The nonces that the chain has consumed, and by which transaction. */
  readonly used: Map<string, string>
  supported: unknown
}

/** The number of calls to this path. */
export const count = (stub: X402FacilitatorStub, path: string): number =>
  stub.seen.filter(({ url }) => url === path).length

/** A running stub; it stops with the scope. */
export const make = Effect.fnUntraced(function* (supported: unknown = { kinds: [kind] }) {
  const foreign = {
    settles: new Array<Deed>(),
    verifies: new Array<Deed>(),
    used: new Map<string, string>(),
    supported
  }
  const { seen, url } = yield* FacilitatorStub.make(({ body, url: path }, response) => {
    if (path === "/supported") return answer(response, foreign.supported)
    const asked = decodeAsked(body)
    if (path === "/settle") {
      return (foreign.settles.shift() ?? honestly)(response, () => settle(foreign.used, asked))
    }
    return (foreign.verifies.shift() ?? honestly)(response, () => verify(foreign.used, asked))
  })
  return Object.assign(foreign, { seen, url }) satisfies X402FacilitatorStub
})

const honestly: Deed = (response, honest) => answer(response, honest())

const settle = (used: Map<string, string>, { paymentPayload, paymentRequirements }: typeof Asked.Type) => {
  const { nonce, payer } = paymentPayload.payload
  const { network } = paymentRequirements
  if (used.has(nonce)) return refuses("invalid_exact_evm_nonce_already_used", { payer, network })
  const transaction = `tx-${used.size + 1}`
  used.set(nonce, transaction)
  return { success: true, payer, transaction, network }
}

const verify = (used: Map<string, string>, { paymentPayload }: typeof Asked.Type) => {
  const { nonce, payer } = paymentPayload.payload
  return used.has(nonce)
    ? { isValid: false, invalidReason: "invalid_exact_evm_nonce_already_used", payer }
    : { isValid: true, payer }
}
