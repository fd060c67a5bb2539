/**
 * Buyers that do not play by the rules, or whose mail is tampered with: what they are offered, what they sign and what
 * they send can each be changed on the way.
 */
import type { SchemeClient } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { wrapFetch } from "@pontage/fetch"

/** A buyer's signer. */
export type Signer = Parameters<typeof exactEvm.client>[0]["signer"]

/** Changes one option of an offer. */
export type Tamper = (offer: Record<string, unknown>) => Record<string, unknown>

const headerOf = (init: RequestInit | undefined) => new Headers(init?.headers).get("x-payment")

/** Changes of an offer on its way from the shop to the buyer. */
export const tampering =
  (tamper: Tamper): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    if (response.status !== 402 || headerOf(init) !== null) return response
    const body = (await response.json()) as { readonly accepts: ReadonlyArray<Record<string, unknown>> }
    const altered = new Response(JSON.stringify({ ...body, accepts: body.accepts.map(tamper) }), {
      status: response.status,
      headers: response.headers
    })
    return Object.defineProperty(altered, "url", { value: response.url })
  }

/** The shop gets another payment header than the buyer sends. */
export const bending =
  (send: typeof fetch, bend: (header: string) => string): typeof fetch =>
  (input, init) => {
    const header = headerOf(init)
    if (header === null) return send(input, init)
    const headers = new Headers(init?.headers)
    headers.set("x-payment", bend(header))
    return send(input, { ...init, headers })
  }

/** Keeps the refusals of a payment, to compare their bodies with the errors that the client makes of them. */
export const watching = (send: typeof fetch) => {
  const refusals: Array<Record<string, unknown>> = []
  const watched: typeof fetch = async (input, init) => {
    const response = await send(input, init)
    if (headerOf(init) !== null && !response.ok) {
      refusals.push({ status: response.status, ...(await response.clone().json()) })
    }
    return response
  }
  return { watched, refusals }
}

/** Lets the client sign, and keeps its paid request instead of sending it. */
export const signOnly = (url: string, signer: Signer): Promise<string> =>
  signOnlyBy(url, exactEvm.client({ signer, network: "eip155:31337" }))

/** The same by any scheme. */
export const signOnlyBy = async (url: string, scheme: SchemeClient): Promise<string> => {
  let kept: string | undefined
  const controller = new AbortController()
  const keeping: typeof fetch = (input, init) => {
    const header = headerOf(init)
    if (header === null) return fetch(input, init)
    kept = header
    controller.abort()
    return Promise.reject(new TypeError("kept, not sent"))
  }
  const paying = wrapFetch(keeping, { schemes: [scheme] })
  await paying(url, { signal: controller.signal }).catch(() => undefined)
  if (kept === undefined) throw new Error("the client sent no payment")
  return kept
}
